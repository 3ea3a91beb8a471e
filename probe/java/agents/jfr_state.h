/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to java/agents/jfr.c (which VMs, and their states), jfr_requests.c (begin and stop),
 * jfr_window.c (a window's end) and jfr_read.c (files).
 */
#pragma once

#include "java/agents/attach_queue.h"
#include "java/agents/jfr.h"
#include "bpf/shared/probe.h"

/* State of a VM with the window that ended last. */
enum jfr_phase {
	PHASE_NONE,    /* the window isn't the VM's */
	PHASE_DUMPING, /* the VM was told that it has ended */
	PHASE_READING, /* its files are being read */
	PHASE_TOLD,    /* its files were read */
};

/* A VM that records, or is to. */
struct jfr_vm {
	struct jfr *jfr;
	struct jfr_vm *next, **link;
	pid_t pid;
	uint64_t start_ticks;
	uint64_t id; /* of the target, when seen last */
	enum jfr_step step;
	bool stopping; /* it is being stopped, and removed after that … */
	bool again;    /* … or asked again */
	bool unwanted; /* to be stopped when the VM has answered */
	bool execed;   /* the VM is gone: its process runs another program */
	uint64_t asked_ns;
	uint64_t sequence;
	uint32_t probes, period_ms; /* what it was asked to record */
	struct attach_request question;
	struct attach_answer answer; /* result and text of the last request */
	int folder_fd, tmp_fd;
	/* the descriptors have their places (elf/fd_budget.h), or will need them */
	bool held;
	uid_t owner;

	uint64_t border_us; /* begin of its window, µs since 1970; 0: not known */
	uint64_t since_us;  /* what came before was the kernel's */
	unsigned misses;    /* windows in a row without an answer */
	enum jfr_phase phase;
	struct jfrfile *files[PROBE_COUNT];
	size_t bytes; /* PHASE_TOLD: memory that the files take */
};

struct jfr {
	struct loop *loop;
	struct worker *foreign;
	const struct target_table *table;
	void (*began)(void *arg);
	void *began_arg;
	struct jfr_wish wish;
	struct jfr_vm *all;
	unsigned count; /* number of VMs */
	/* two queues, so that beginning VMs don't hold up a window */
	struct attach_queue *beginning, *dumping;
	struct jfr_counts counts; /* since the start */

	/* The window that ended last. */
	uint64_t from_us, to_us; /* µs since 1970 */
	bool ending;		 /* VMs are being asked */
	unsigned told;		 /* VMs in PHASE_TOLD */
	size_t bytes;		 /* memory that their files take */
	struct loop_timer limit;
	void (*done)(void *arg);
	void *done_arg;
};

/* ---- java/agents/jfr.c ---- */

/* Returns the present or past target of a VM; NULL: that is forgotten. */
struct target *jfr_target_of(const struct jfr_vm *vm);
struct jfr_vm *jfr_find(const struct jfr *jfr, pid_t pid, uint64_t start_ticks);
/*
 * Returns whether its process, which is the target `now`, runs another program. That program is
 * asked when the VM's rest has been removed.
 */
bool jfr_has_execed(struct jfr_vm *vm, const struct target *now);
void jfr_remove(struct jfr_vm *vm);
void jfr_fail(struct jfr_vm *vm, const struct attach_answer *answer);
/* Stops a VM as soon as no request is under way. */
void jfr_let_go(struct jfr_vm *vm);

/* ---- java/agents/jfr_requests.c ---- */

/* Closes its descriptors and gives back their places. */
void jfr_close_folder(struct jfr_vm *vm);

/* Asks a VM to record. Sets JFR_STARTING, or JFR_FAILED if there are no descriptors left. */
void jfr_ask_begin(struct jfr_vm *vm);
/* Tells a VM to stop when the daemon ends while the VM is asked for something else. */
void jfr_tell_stop(struct jfr_vm *vm);
/*
 * Clears up a VM that failed after it had recorded, unless a request is under way: tells it to
 * stop, if that may help, and closes its descriptors.
 */
void jfr_ask_clear(struct jfr_vm *vm);
/*
 * Tells a VM to stop; it is removed when that is done, at once if it never began. Not while a
 * request is under way.
 */
void jfr_ask_stop(struct jfr_vm *vm);

/* ---- java/agents/jfr_window.c ---- */

/* Drops what a VM recorded of the window, as it is removed or begins anew. */
void jfr_forget_window(struct jfr_vm *vm);
/* Takes the files that were read, and owns them; error: 0 or a negative errno. */
void jfr_was_read(struct jfr_vm *vm, int error, struct jfrfile *files[PROBE_COUNT]);
/* Marks a VM as failed for good: reading its files hangs, and would in each window. */
void jfr_hangs(struct jfr_vm *vm);
void jfr_window_init(struct jfr *jfr);
void jfr_window_done(struct jfr *jfr);

/* ---- java/agents/jfr_read.c ---- */

/*
 * Submits a job that reads a VM's files of the window; jfr_was_read() is called later, unless the
 * VM is removed. Returns 0 or a negative errno.
 */
int jfr_read(struct jfr_vm *vm);
