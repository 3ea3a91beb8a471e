/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recordings of Java VMs (JFR): which VMs record, and what they recorded in the window that has
 * ended. The kernel goes on sampling them; whoever joins a window takes one or the other of each
 * VM, by jfr_recorded().
 *
 *	a stack is met -> the VM is asked to record -> the next window's end is told to it, and that
 *	window is the kernel's -> from then on windows are the VM's
 *
 * A window is the VM's when its file came in time, is whole, and begins where the last one ended.
 * Else it is the kernel's, and so is the next.
 *
 * On the loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loop/worker.h"
#include "target/target_table.h"
#include "stack/records.h"
#include "java/files/jfrfile.h"

struct jfr;

/* -ENOMEM. `foreign` looks at processes, and reads and closes their files. began(arg): some VMs
 * record from now on; a window should end soon. */
int jfr_new(struct jfr **ret, struct loop *loop, struct worker *foreign,
	    const struct target_table *table, void (*began)(void *arg), void *arg);
/* All are told to stop; in time, when the loop has ended. */
void jfr_free(struct jfr *jfr);

/* The probes that a recording has stacks of, as bits. */
extern const uint32_t jfr_probes;

struct jfr_wish {
	uint32_t probes;      /* of jfr_probes; 0: none is to record */
	uint32_t period_ms;   /* on-CPU */
	uint64_t interval_ns; /* one that failed is asked again after */
};

/* From now on. Those that record something else begin anew. */
void jfr_set(struct jfr *jfr, const struct jfr_wish *wish);

/* A stack of a target whose VM is to record: it is asked, if it wasn't just before. */
void jfr_meet(struct jfr *jfr, const struct target *target);

/* Whether something of ours is in a target's VM, or may be; one that stops is until it has. */
bool jfr_has(const struct jfr *jfr, const struct target *target);

/* All stop: nobody is sampled any more. */
void jfr_stop(struct jfr *jfr);

/* After a window was joined: what isn't `wanted` any more, or has ended, stops. */
void jfr_sweep(struct jfr *jfr, bool (*wanted)(void *arg, const struct target *target), void *arg);

/* ---- windows ---- */

/*
 * A window has ended, at that time of loop_now_ns(). True: some VMs record it; done(arg) is called,
 * never inside, when all have told or time is over. False: none does.
 */
bool jfr_end_window(struct jfr *jfr, uint64_t ended_ns, void (*done)(void *arg), void *arg);

/* The probes of which a target's VM has told the stacks of the window that ended last. */
uint32_t jfr_recorded(const struct jfr *jfr, const struct target *target);

/* Hands these stacks over; the files are the taker's. Once a window. */
void jfr_take(struct jfr *jfr,
	      void (*take)(void *arg, const struct target *target, uint32_t probe,
			   struct jfrfile *file),
	      void *arg);

/* So many events of what was handed over found no room. */
void jfr_refuse(struct jfr *jfr, uint64_t events);

/* Why a window isn't what a VM recorded. */
enum jfr_cause {
	JFR_SILENT,  /* it didn't tell in time, or something of ours failed */
	JFR_ENDED,   /* it has ended */
	JFR_STOPPED, /* its process is stopped */
	JFR_REFUSED, /* it said no, or couldn't be asked */
	JFR_FILE,    /* what it wrote can't be read, or makes no sense */
	JFR_CUT,     /* more was recorded than there is room for, by it or by all */
	JFR_BORDER,  /* it doesn't begin where the last one ended: that was the kernel's */
	JFR_CAUSES
};
const char *jfr_cause_name(enum jfr_cause cause);

struct jfr_counts {
	unsigned recording, starting, failed;	    /* VMs, now */
	uint64_t windows, fell_back[JFR_CAUSES];    /* of VMs that recorded when these began */
	uint64_t lost_samples, lost_bytes, refused; /* as struct jfr_head */
	uint64_t unasked; /* stacks of VMs that aren't asked, for so many are */
};
void jfr_counts(const struct jfr *jfr, struct jfr_counts *counts);

enum jfr_step {
	JFR_NONE,     /* it was not asked, or is to stop */
	JFR_STARTING, /* until the first of its windows begins */
	JFR_RECORDING,
	JFR_FAILED,
};
/* What is with a target's; of JFR_FAILED why, of JFR_RECORDING how on-CPU is sampled. */
enum jfr_step jfr_state(const struct jfr *jfr, const struct target *target, char *why,
			size_t bytes);
