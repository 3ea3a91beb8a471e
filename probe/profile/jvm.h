/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The Java VM (HotSpot) that a process has mapped: where, and what its walker and the readers of
 * its code have to know. Immutable once it is a target's; references belong to the loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/jvmlayout.h"
#include "symbol/symbol.h"

struct jvm {
	unsigned refs;
	struct symbol_file *file; /* libjvm; with a reference */
	uint64_t bias;		  /* where that lies: linked addresses plus this */
	int error;		  /* 0: `layout` is valid; or why not */
	struct jvm_layout layout;
};

struct jvm *jvm_ref(struct jvm *jvm);
void jvm_unref(struct jvm *jvm);

/* Its frames are walked and named. False for NULL, as all of these are. */
bool jvm_is_supported(const struct jvm *jvm);

/* Whether a frame is code of the file that the VM is in. */
bool jvm_owns(const struct jvm *jvm, const struct code *code);

/* "17.0.15", "8.0.402"; "": unknown. */
void jvm_version(const struct jvm *jvm, char *to, size_t bytes);
