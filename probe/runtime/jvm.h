/* SPDX-License-Identifier: GPL-2.0-only */
/* The Java VM (HotSpot) that a process has mapped: where, and what its walker and the readers of
 * its code have to know. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/runtime.h"
#include "java/vm/hotspot.h"

struct jvm {
	/* Of libjvm. Errors: -EAGAIN: the VM has just begun; -ENOTSUP, -EBADMSG: as
	 * hotspot_of_memory() says. */
	struct runtime runtime;
	struct hotspot_file found;
	const char *missing; /* -ENOTSUP: the field that it hasn't got; NULL: none is known */
	struct jvm_layout layout;
};

struct jvm *jvm_ref(struct jvm *jvm);
void jvm_unref(struct jvm *jvm);

/* Its frames are walked and named. False for NULL, as all of these are. */
bool jvm_is_supported(const struct jvm *jvm);

/* Whether a frame is code of the file that the VM is in. */
bool jvm_owns(const struct jvm *jvm, const struct code *code);

/* "17.0.15", "8u402"; "": unknown. */
void jvm_version(const struct jvm *jvm, char *to, size_t bytes);

/* Why its frames are not walked, a few words; "": they are. */
void jvm_problem(const struct jvm *jvm, char *to, size_t bytes);

/* How a process is asked about its VM (runtime_ask()). */
extern const struct runtime_kind jvm_kind;
