// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/jvm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool jvm_is_supported(const struct jvm *jvm)
{
	return jvm && jvm->runtime.error == 0;
}

bool jvm_owns(const struct jvm *jvm, const struct code *code)
{
	return jvm && runtime_owns(&jvm->runtime, code);
}

void jvm_version(const struct jvm *jvm, char *to, size_t bytes)
{
	const struct jvm_layout *layout = &jvm->layout;

	if (!layout->version)
		snprintf(to, bytes, "%s", "");
	else if (layout->version == 8)
		snprintf(to, bytes, "8u%u", layout->patch);
	else
		snprintf(to, bytes, "%u.%u.%u", layout->version, layout->minor, layout->patch);
}

void jvm_problem(const struct jvm *jvm, char *to, size_t bytes)
{
	switch (jvm->runtime.error) {
	case 0:
		snprintf(to, bytes, "%s", "");
		break;
	case -EAGAIN:
		snprintf(to, bytes, "the VM has not begun yet");
		break;
	case -ENOTSUP:
		snprintf(to, bytes, "unsupported version (%s)",
			 jvm->missing ? jvm->missing : "its tables");
		break;
	case -EBADMSG:
		snprintf(to, bytes, "what it says of its layout makes no sense");
		break;
	case -EBUSY:
	case -ETIMEDOUT:
		snprintf(to, bytes, "reading its memory took too long");
		break;
	default:
		snprintf(to, bytes, "its memory can't be read");
	}
}

static void ask_jvm(pid_t pid, const struct process_memory *memory, struct runtime *runtime)
{
	struct jvm *jvm = (struct jvm *)runtime;

	(void)pid;
	runtime->error =
		hotspot_of_memory(memory, &jvm->found, runtime->bias, &jvm->layout, &jvm->missing);
}

static bool is_found(const struct runtime *known, const void *found)
{
	const struct jvm *jvm = (const struct jvm *)known;

	return memcmp(&jvm->found, found, sizeof(jvm->found)) == 0;
}

/* A VM has the boundary of virtual threads only with the first of them, if ever. */
static bool is_unfinished(const struct runtime *known)
{
	return ((const struct jvm *)known)->layout.unfinished;
}

static void unref_jvm(struct runtime *runtime)
{
	if (runtime_unref(runtime))
		free(runtime);
}

const struct runtime_kind jvm_kind = {
	.number = RUNTIME_JAVA,
	.name = "Java VM",
	.bytes = sizeof(struct jvm),
	.found_at = offsetof(struct jvm, found),
	.found_bytes = sizeof(struct hotspot_file),
	.begins_late = true,
	.is_found = is_found,
	.is_unfinished = is_unfinished,
	.ask = ask_jvm,
	.unref = unref_jvm,
};
