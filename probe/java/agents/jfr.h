/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recordings of Java VMs (JFR): which VMs record, and what they recorded in the window that ended
 * last. The kernel's side goes on sampling them; a window takes one or the other for each VM, by
 * jfr_recorded().
 *
 *	a stack is met -> the VM is asked to record -> it is told the next window's end; that window
 *	is the kernel's -> from then on windows are the VM's
 *
 * A window is the VM's if its file came in time, is whole, and begins where the last one ended.
 * Else it is the kernel's, and so is the next one.
 *
 * Loop thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/shared/named.h"
#include "base/why.h"
#include "loop/worker.h"
#include "target/target_table.h"
#include "stack/records.h"
#include "java/files/jfrfile.h"

struct jfr;

/*
 * Creates it; the caller owns *ret. `foreign` looks at processes, and reads and closes their files.
 * began(arg) is called when some VMs have begun to record: a window should end soon. Returns 0 or
 * -ENOMEM.
 */
int jfr_new(struct jfr **ret, struct loop *loop, struct worker *foreign,
	    const struct target_table *table, void (*began)(void *arg), void *arg);
/* Tells all VMs to stop and frees it, when the loop has ended. */
void jfr_free(struct jfr *jfr);

struct jfr_wish {
	uint32_t probes;      /* subset of kinds_recorded(); 0: no VM records */
	uint32_t period_ms;   /* of on-CPU samples */
	uint64_t interval_ns; /* ns; a VM that failed is asked again after this time */
};

/* Sets what is recorded from now on. Recordings of something else are begun anew. */
void jfr_set(struct jfr *jfr, const struct jfr_wish *wish);

/* Takes a stack of a target whose VM is to record: it is asked, unless it was just before. */
void jfr_meet(struct jfr *jfr, const struct target *target);

/* Returns whether a target's VM has something of ours, or may have; also while it is stopping. */
bool jfr_has(const struct jfr *jfr, const struct target *target);

/* Stops all recordings, as nobody is sampled any more. */
void jfr_stop(struct jfr *jfr);

/*
 * Call it when a window was joined. Stops recordings of processes that aren't wanted() any more, or
 * have ended.
 */
void jfr_sweep(struct jfr *jfr, bool (*wanted)(void *arg, const struct target *target), void *arg);

/* ---- windows ---- */

/*
 * Tells VMs that a window ended, at that loop_now_ns(). Returns true if some VMs record it:
 * done(arg) is called, never inside, when all have answered or the time is over. False: none does.
 */
bool jfr_end_window(struct jfr *jfr, uint64_t ended_ns, void (*done)(void *arg), void *arg);

/* Returns the probes for which the target's VM recorded the last window. */
uint32_t jfr_recorded(const struct jfr *jfr, const struct target *target);

/* Calls take() for each file of the last window; take() owns the file. Once a window. */
void jfr_take(struct jfr *jfr,
	      void (*take)(void *arg, const struct target *target, uint32_t probe,
			   struct jfrfile *file),
	      void *arg);

/* Counts events of these files that found no room. */
void jfr_refuse(struct jfr *jfr, uint64_t events);

/* Why the kernel's stacks are used for a window of a VM. */
#define JFR_CAUSE_LIST(X)                                                                          \
	X(JFR_SILENT, "silent")	  /* it didn't answer in time, or something of ours failed */      \
	X(JFR_ENDED, "ended")	  /* the VM has ended */                                           \
	X(JFR_STOPPED, "stopped") /* its process is stopped */                                     \
	X(JFR_REFUSED, "refused") /* it refused, or couldn't be asked */                           \
	X(JFR_FILE, "file")	  /* its file can't be read, or makes no sense */                  \
	X(JFR_CUT, "cut") /* it or all VMs together recorded more than there is room for */        \
	/* it doesn't begin where the last one ended; that was the kernel's */                     \
	X(JFR_BORDER, "border")
enum jfr_cause { JFR_CAUSE_LIST(NAMED_VALUE) JFR_CAUSES };
const char *jfr_cause_name(enum jfr_cause cause);

struct jfr_counts {
	unsigned recording, starting, failed;	 /* VMs, now */
	uint64_t windows, fell_back[JFR_CAUSES]; /* of VMs that recorded when the windows began */
	uint64_t lost_samples, lost_bytes, refused; /* as in struct jfr_head */
	uint64_t unasked; /* stacks of VMs that aren't asked, because too many are */
};
void jfr_counts(const struct jfr *jfr, struct jfr_counts *counts);

enum jfr_step {
	JFR_NONE,     /* not asked, or being stopped */
	JFR_STARTING, /* until its first window begins */
	JFR_RECORDING,
	JFR_FAILED,
};
/*
 * Returns the state of a target's recording; `why` (may be NULL): of JFR_FAILED the reason, of
 * JFR_RECORDING how on-CPU is sampled.
 */
enum jfr_step jfr_state(const struct jfr *jfr, const struct target *target, struct why *why);
