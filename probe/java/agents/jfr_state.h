/* SPDX-License-Identifier: GPL-2.0-only */
/* What java/agents/jfr.c (whom, and what became of it), jfr_requests.c (begin and stop),
 * jfr_window.c (a window's end) and jfr_read.c (files) share. Nobody else includes it. */
#pragma once

#include "java/agents/attach_queue.h"
#include "java/agents/jfr.h"
#include "bpf/shared/probe.h"

/* What is with a VM and the window that ended last. */
enum jfr_phase {
	PHASE_NONE,    /* it isn't the VM's */
	PHASE_DUMPING, /* the VM was told that it has ended */
	PHASE_READING, /* its files are read */
	PHASE_TOLD,    /* they are there */
};

/* A VM that records, or is to. */
struct jfr_vm {
	struct jfr *jfr;
	struct jfr_vm *next, **link;
	pid_t pid;
	uint64_t start_ticks;
	uint64_t id; /* the target's as it was last */
	enum jfr_step step;
	bool stopping; /* it is told to; it goes when that is done … */
	bool again;    /* … and is asked anew */
	bool unwanted; /* it is let go when it has answered */
	bool execed;   /* it has gone: its process runs another program */
	uint64_t asked_ns;
	uint64_t sequence;
	uint32_t probes, period_ms; /* that it was asked for */
	struct attach_request question;
	struct attach_answer answer; /* its last one's result and text */
	int folder_fd, tmp_fd;
	bool held; /* they have their places (elf/fd_budget.h), or will need them */
	uid_t owner;

	uint64_t border_us; /* where its window began; 0: not known */
	uint64_t since_us;  /* what came before was the kernel's */
	unsigned misses;    /* windows in a row for which it was silent */
	enum jfr_phase phase;
	struct jfrfile *files[PROBE_COUNT];
	size_t bytes; /* PHASE_TOLD: that they took */
};

struct jfr {
	struct loop *loop;
	struct worker *foreign;
	const struct target_table *table;
	void (*began)(void *arg);
	void *began_arg;
	struct jfr_wish wish;
	struct jfr_vm *all;
	unsigned count;				  /* of them */
	struct attach_queue *beginning, *dumping; /* no VM that begins holds up a window */
	struct jfr_counts counts;		  /* since the start */

	/* The window that ended last. */
	uint64_t from_us, to_us; /* since 1970 */
	bool ending;		 /* VMs are asked */
	unsigned told;		 /* PHASE_TOLD */
	size_t bytes;		 /* that their files take */
	struct loop_timer limit;
	void (*done)(void *arg);
	void *done_arg;
};

/* ---- java/agents/jfr.c ---- */

/* The target that it is, or was; NULL: that is forgotten. */
struct target *jfr_target_of(const struct jfr_vm *vm);
struct jfr_vm *jfr_find(const struct jfr *jfr, pid_t pid, uint64_t start_ticks);
/* Whether its process, which is this target now, runs another program: that one is asked when what
 * is left of this one has been let go. */
bool jfr_has_execed(struct jfr_vm *vm, const struct target *now);
void jfr_remove(struct jfr_vm *vm);
void jfr_fail(struct jfr_vm *vm, const struct attach_answer *answer);
/* It stops, as soon as it isn't asked. */
void jfr_let_go(struct jfr_vm *vm);

/* ---- java/agents/jfr_requests.c ---- */

/* Its descriptors go, with their places. */
void jfr_close_folder(struct jfr_vm *vm);

/* Asks it to record: JFR_STARTING; JFR_FAILED where there are no descriptors left. */
void jfr_ask_begin(struct jfr_vm *vm);
/* The daemon ends while it is asked for something else: it is told to stop all the same. */
void jfr_tell_stop(struct jfr_vm *vm);
/* One that failed after it had recorded, unless it is asked: it is told to stop, if that may help,
 * and its descriptors go. */
void jfr_ask_clear(struct jfr_vm *vm);
/* Tells it to stop; it goes when that is done, at once where it never began. Not while asked. */
void jfr_ask_stop(struct jfr_vm *vm);

/* ---- java/agents/jfr_window.c ---- */

/* Of a VM that goes, or begins anew: what it has told of the window is dropped. */
void jfr_forget_window(struct jfr_vm *vm);
/* Its files were read; 0, or a negative errno. Takes them over. */
void jfr_was_read(struct jfr_vm *vm, int error, struct jfrfile *files[PROBE_COUNT]);
/* Reading its files hangs, and would in each window: it has failed for good. */
void jfr_hangs(struct jfr_vm *vm);
void jfr_window_init(struct jfr *jfr);
void jfr_window_done(struct jfr *jfr);

/* ---- java/agents/jfr_read.c ---- */

/* Reads the files of the window; jfr_was_read() is called later, unless the VM goes. -errno */
int jfr_read(struct jfr_vm *vm);
