/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The Java VM (HotSpot) that a process has mapped: where, and what its walker and the readers of
 * its code have to know. Immutable once it is a target's; shared with processes that it forks,
 * dropped at an exec. References belong to the loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/worker.h"
#include "symbol/symbol.h"
#include "unwind/hotspot.h"

struct jvm {
	unsigned refs;
	struct symbol_file *file; /* libjvm; with a reference */
	uint64_t bias;		  /* where that lies: linked addresses plus this */
	struct hotspot_file found;
	/* 0: `layout` is valid. -EAGAIN: the VM has just begun; -ENOTSUP, -EBADMSG: as
	 * hotspot_of_process() says; -ETIMEDOUT: its memory hangs; or the errno of reading it. */
	int error;
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

/* Asks a process about its VM: an urgent job, for its memory may hang. */
struct jvm_question {
	pid_t pid;
	uint64_t id; /* of the target that it is about */
	struct hotspot_file found;
	struct symbol_file *file; /* gets one reference more */
	uint64_t bias;
	/* The answer: its one reference is handed over. NULL: no memory. */
	void (*done)(void *arg, const struct jvm_question *question, struct jvm *answer);
	void *arg;
};

/* -ENOMEM */
int jvm_ask(struct worker *worker, const struct jvm_question *question);
