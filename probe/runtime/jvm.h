/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The Java VM (HotSpot) that a process has loaded: where, and the layout that the walker and the
 * readers of code need. Immutable; references are counted on the loop's thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/runtime.h"
#include "java/vm/hotspot.h"

struct jvm {
	/* The file is libjvm. Errors: as hotspot_of_memory(); -EAGAIN: the VM has just begun. */
	struct runtime runtime;
	struct hotspot_file found;
	const char *missing;	  /* for -ENOTSUP: the field that the VM lacks; NULL: not known */
	struct jvm_layout layout; /* valid if runtime.error is 0 */
};

/* Returns whether Java frames of the process are walked and named; false for NULL. */
bool jvm_is_supported(const struct jvm *jvm);

/* Returns whether a frame's code lies in the VM's file; false for NULL. */
bool jvm_owns(const struct jvm *jvm, const struct code *code);

/* Writes the version: "17.0.15", "8u402"; "": not known. */
void jvm_version(const struct jvm *jvm, char *to, size_t bytes);

/* Writes in a few words why Java frames are not walked; "": they are. */
void jvm_problem(const struct jvm *jvm, char *to, size_t bytes);

/* The kind of runtime (runtime/runtime.h). */
extern const struct runtime_kind jvm_kind;
