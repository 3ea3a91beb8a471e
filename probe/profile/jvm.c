// SPDX-License-Identifier: GPL-2.0-only
#include "profile/jvm.h"

#include <stdio.h>
#include <stdlib.h>

struct jvm *jvm_ref(struct jvm *jvm)
{
	if (jvm)
		jvm->refs++;
	return jvm;
}

void jvm_unref(struct jvm *jvm)
{
	if (!jvm || --jvm->refs)
		return;
	symbol_file_unref(jvm->file);
	free(jvm);
}

bool jvm_is_supported(const struct jvm *jvm)
{
	return jvm && jvm->error == 0;
}

bool jvm_owns(const struct jvm *jvm, const struct code *code)
{
	return jvm && code->place == CODE_FILE && code->file == jvm->file;
}

void jvm_version(const struct jvm *jvm, char *to, size_t bytes)
{
	const struct jvm_layout *layout = &jvm->layout;

	to[0] = '\0';
	if (layout->version)
		snprintf(to, bytes, "%u.%u.%u", layout->version, layout->minor, layout->patch);
}
