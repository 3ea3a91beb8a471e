// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/jvm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct jvm *jvm_ref(struct jvm *jvm)
{
	if (jvm)
		jvm->runtime.refs++;
	return jvm;
}

void jvm_unref(struct jvm *jvm)
{
	if (jvm && runtime_unref(&jvm->runtime))
		free(jvm);
}

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
	case -ETIMEDOUT:
		snprintf(to, bytes, "reading its memory took too long");
		break;
	default:
		snprintf(to, bytes, "its memory can't be read");
	}
}

static void ask(pid_t pid, const struct process_memory *memory, struct runtime *runtime)
{
	struct jvm *jvm = (struct jvm *)runtime;

	(void)pid;
	runtime->error =
		hotspot_of_memory(memory, &jvm->found, runtime->bias, &jvm->layout, &jvm->missing);
}

static void unref(struct runtime *runtime)
{
	jvm_unref((struct jvm *)runtime);
}

const struct runtime_kind jvm_kind = {sizeof(struct jvm), ask, unref};
