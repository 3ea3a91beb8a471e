/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to java/agents/jfr.c (which VMs, and what they record), jfr_window.c (a window's end) and
 * jfr_read.c (files).
 *
 * A VM that records has the states of attached.h. While it is RUNNING, it is with the window that
 * ended last in exactly one state:
 *
 *	IDLE     the window isn't, or not yet, the VM's
 *	DUMPING  told that the window has ended
 *	LATE     the same, but the window has been left to the kernel
 *	READING  its files are being read
 *	TOLD     its files were read: the window is the VM's
 *
 *	IDLE     -> DUMPING  a window has ended
 *	DUMPING  -> READING  written in time, and begins where the last one ended
 *	         -> IDLE     written, but begins elsewhere; or refused, or silent
 *	         -> LATE     time is over, or let go
 *	LATE     -> IDLE     written, refused, silent; the next window begins where it was written
 *	READING  -> TOLD     read, and the files make sense
 *	         -> IDLE     not so; time is over, let go, begins anew
 *	TOLD     -> IDLE     taken; let go, begins anew
 *
 * When a window ends, nobody waits for the one before any more; a VM that is LATE isn't told of it.
 */
#pragma once

#include "base/container_of.h"
#include "bpf/shared/probe.h"
#include "java/agents/attached.h"
#include "java/agents/jfr.h"

enum jfr_phase { PHASE_IDLE, PHASE_DUMPING, PHASE_LATE, PHASE_READING, PHASE_TOLD };

/* A VM that records, or is to. */
struct jfr_vm {
	struct attached_vm attached;
	uint64_t sequence;	    /* number of its last command */
	uint32_t probes, period_ms; /* what it was asked to record: bits; ms between samples */
	uid_t owner;		    /* of its files, since it began */

	enum jfr_phase phase;
	uint64_t border_us;		    /* begin of its window, µs since 1970; 0: not known */
	uint64_t since_us;		    /* what came before was the kernel's, µs since 1970 */
	unsigned misses;		    /* windows in a row without an answer */
	struct jfrfile *files[PROBE_COUNT]; /* PHASE_TOLD */
	size_t bytes;			    /* memory that these take */
};

struct jfr {
	struct attached_vms vms;
	struct loop *loop;
	void (*began)(void *arg);
	void *began_arg;
	struct jfr_wish wish;
	struct attach_queue *dumping; /* of its own, so that beginning VMs don't hold up a window */
	struct jfr_counts counts;     /* since the start */

	/* The window that ended last. */
	uint64_t from_us, to_us; /* µs since 1970 */
	size_t bytes;		 /* memory that the files of all VMs take */
	struct loop_timer limit;
	void (*done)(void *arg); /* NULL: no window is ending */
	void *done_arg;
};

/* Returns the VM of which this is the part `attached`. */
static inline struct jfr_vm *jfr_vm_of(const struct attached_vm *attached)
{
	return attached ? CONTAINER_OF(attached, struct jfr_vm, attached) : NULL;
}

/* Return the first VM, the next one; NULL: there is none. */
static inline struct jfr_vm *jfr_first(const struct jfr *jfr)
{
	return jfr_vm_of(jfr->vms.all);
}
static inline struct jfr_vm *jfr_next(const struct jfr_vm *vm)
{
	return jfr_vm_of(vm->attached.next);
}

static inline struct jfr *jfr_of(const struct jfr_vm *vm)
{
	return CONTAINER_OF(vm->attached.vms, struct jfr, vms);
}

/* ---- java/agents/jfr.c ---- */

struct jfr_vm *jfr_find(const struct jfr *jfr, pid_t pid, uint64_t start_ticks);
/*
 * Returns whether its process, a target, runs another program. That program is asked when the VM's
 * rest has been removed.
 */
bool jfr_has_execed(struct jfr_vm *vm);

/* ---- java/agents/jfr_window.c ---- */

/* Drops what a VM recorded of the window, as it is let go or begins anew. */
void jfr_forget_window(struct jfr_vm *vm);
/* Takes the files that were read, and owns them; error: 0 or a negative errno. */
void jfr_was_read(struct jfr_vm *vm, int error, struct jfrfile *files[PROBE_COUNT]);
/* Marks a VM as failed for good: reading its files hangs, and would in each window. */
void jfr_hangs(struct jfr_vm *vm);

/* ---- java/agents/jfr_read.c ---- */

/*
 * Submits a job that reads a VM's files of the window; jfr_was_read() is called later, unless the
 * VM is removed. Returns 0 or a negative errno.
 */
int jfr_read(struct jfr_vm *vm);
