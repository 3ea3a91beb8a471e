/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plain data that the BPF programs and the daemon share: stacks, their counts, life events, what
 * is wanted of whom. uint32_t and its kin come from stdint.h or from bpf/core/kernel.h.
 */
#pragma once

#ifndef __bpf__
#include <stdint.h>
#endif

#include "bpf/shared/cpython.h"
#include "bpf/shared/hotspot.h"
#include "bpf/shared/probe.h"

#define COMM_BYTES	  16
#define KERNEL_FRAMES_MAX 127 /* kernel.perf_event_max_stack's default; deeper ones are marked */
#define USER_FRAMES_MAX	  1024
#define NATIVE_WORDS_MAX  (KERNEL_FRAMES_MAX + USER_FRAMES_MAX)
#define WORDS_MAX	  (NATIVE_WORDS_MAX + PYTHON_WORDS_MAX)

/*
 * A frame is one word (Python's take two: bpf/shared/cpython.h):
 *
 *	 63      56 55                                             0
 *	+----------+------------------------------------------------+
 *	|   kind   |  address; kernel addresses without sign bits   |
 *	+----------+------------------------------------------------+
 *
 * 56 bits hold every user address of five-level paging; the kernel's begin with ones.
 */
enum frame_kind {
	FRAME_NATIVE = 1,	 /* user code, the address of the instruction itself */
	FRAME_NATIVE_RETURN = 2, /* user code, a return address: look up the byte before it */
	FRAME_KERNEL = 3,
	FRAME_KERNEL_RETURN = 4,
	FRAME_PYTHON = 5,	/* bpf/shared/cpython.h */
	FRAME_PYTHON_ENTRY = 6, /* … for which the interpreter's loop was entered */
	FRAME_JAVA = 7,		/* code of a Java VM's code cache: bpf/shared/hotspot.h */
	FRAME_JAVA_RETURN = 8,	/* … a return address */
	FRAME_JAVA_METHOD = 9,	/* … an interpreted method */
	FRAME_JAVA_DETAIL = 10, /* … the second word of each of these */
};

#define FRAME_KIND_SHIFT 56
#define FRAME_ADDRESS	 ((1ULL << FRAME_KIND_SHIFT) - 1)

/* Why a stack does not reach its root. */
enum truncation {
	TRUNCATED_NOT,
	TRUNCATED_FRAME_POINTER, /* code without unwind tables, and no plausible frame pointer */
	TRUNCATED_MEMORY,	 /* the target's stack could not be read */
	TRUNCATED_DEPTH,	 /* more frames than are walked */
	TRUNCATED_EXEC,		 /* in the middle of execve: the old stack is gone */
	TRUNCATED_EXITING,	 /* the process has given back its memory already */
	TRUNCATED_UNMAPPED,	 /* (by the daemon) it ended before its maps could be read */
	TRUNCATED_NARROW,	 /* 32-bit code */
	TRUNCATED_TABLE_PENDING, /* the unwind table of that code is on its way */
	TRUNCATED_NO_TABLE,	 /* that code has one, but it could not be read or found no room */
	TRUNCATED_RULE,		 /* its rule there is of a kind that isn't supported */
	TRUNCATED_REGISTER,	 /* its rule needs a register that isn't known any more */
	TRUNCATED_ADDRESS,	 /* a return address lies in no executable mapping that is known */
	TRUNCATED_ORDER,	 /* the caller's frame would lie below: the stack is damaged */
	TRUNCATED_PYTHON_DEPTH,	 /* more Python frames than are walked */
	TRUNCATED_PYTHON,	 /* its Python frames could not all be read */
	TRUNCATED_JAVA,		 /* the caller of Java code could not be told */
	TRUNCATED_FROZEN,	 /* a virtual thread's older frames lie in the Java heap */
	TRUNCATED_COUNT
};

/* Where a sample was lost. */
enum loss {
	LOST_RING_FULL,	   /* a new stack found no room in the ring buffer */
	LOST_COUNTS_FULL,  /* the window's map of counts is full */
	LOST_WALK_BUSY,	   /* all walk buffers of this CPU were taken */
	LOST_LIFE_FULL,	   /* a fork, exec or exit event found no room */
	LOST_TARGETS_FULL, /* a new process found no room in the map of targets */
	LOST_SENT_FULL,	   /* the window's map of stacks is full */
	LOST_RECORDS_FULL, /* a thread's record could not be made */
	LOST_GONE_FULL,	   /* what threads had that ended found no room (bpf/process/gone.h) */
	LOST_HELD_FULL,	   /* an allocation is counted, but found no room in those not freed */
	LOST_MAPPED_FULL,  /* a mapping that came or went found no room in its ring buffer */
	LOST_PENDING_FULL, /* a call's arguments found no room until it returns */
	LOST_UNMEASURED,   /* what a page fault added could not be told (bpf/shared/faults.h) */
	/* by the daemon: */
	LOST_CONTAINER_UNKNOWN, /* its container's names, which decide on it, weren't there yet */
	LOST_PROCESS_UNKNOWN,	/* the event that told of its process was lost */
	LOST_STACK_MISSING,	/* a count without its stack */
	LOST_READ_FAILED,	/* a window's counts could not be read, or not be kept */
	LOST_COUNT
};

/* Whose a loss is: a probe's, or … */
#define LOSERS_ALL   PROBE_COUNT       /* what all need: events, windows */
#define LOSERS_SCHED (PROBE_COUNT + 1) /* of WANTED_SCHED */
#define LOSERS_COUNT (PROBE_COUNT + 2)

/* Each CPU's counters. */
struct counters {
	uint64_t samples[PROBE_COUNT];		 /* stacks counted */
	uint64_t left_out[PROBE_COUNT];		 /* events by the guard: others stand for them */
	uint64_t lost[LOSERS_COUNT][LOST_COUNT]; /* samples by their weight; events */
	uint64_t waits_over_maxblock;
	uint64_t slow_waits;	/* run-queue delays that runqslower looks for */
	uint64_t slow_lost;	/* of these; the ring buffer was full */
	uint64_t hists_refused; /* values of groups that found no room in the histograms */
	uint64_t draw;		/* the CPU's random numbers (bpf/core/guard.h) */
};

/* Equal stacks in one window have the same key. */
struct stack_key {
	uint64_t hash; /* of everything in struct stack that isn't the time */
	uint32_t tgid;
	uint32_t probe;
};

/* What is counted together in one window. */
struct count_key {
	struct stack_key stack;
	uint32_t tid;
	uint16_t cpu;  /* CPU_ANY: CPUs aren't told apart (struct control.by_cpu) */
	uint16_t part; /* enum count_part */
};

/*
 * What is counted apart of one stack. All but PART_ALL and PART_MAPPED stand under a leaf frame of
 * their own (window/batch).
 */
enum count_part {
	PART_ALL,
	PART_RUNQUEUE, /* off-CPU: the time after the wake-up */
	PART_ANON,     /* mem: memory of no file … */
	PART_THP,      /* … a huge page of it */
	PART_FILE,     /* … pages of a file */
	PART_SHMEM,    /* … shared memory, tmpfs */
	PART_COW,      /* … a page copied at a write: RSS need not grow */
	PART_MAPPED,   /* mem_glibc: mmap and mremap by the program itself, a view of its own */
	PART_COUNT
};

#define CPU_ANY 0xfff

struct stack_count {
	uint64_t weight;  /* of stacks; off-CPU: ns; memory: bytes */
	uint64_t samples; /* stacks taken: fewer than events where the guard thins them */
	uint64_t events;  /* off-CPU, memory: waits, faults, allocations that these stand for; else
			     as `weight` */
	uint64_t waiting; /* off-CPU: threads that still wait there at the window's end */
};

/*
 * A stack that is new in its window: sent once, before it is counted. Behind it lie `words_count`
 * words, the frames, leaf first: the kernel's, then the user's, then Python's or what details
 * Java's have (a process with both has Java's).
 */
struct stack {
	struct stack_key key;
	uint64_t target_id; /* struct target_value.id */
	uint64_t time_ns;   /* CLOCK_MONOTONIC */
	uint64_t window;    /* struct control.window at that time */
	char comm[COMM_BYTES];
	uint32_t exec_pages; /* pages of executable mappings the process has: a change of it tells
				that its maps have to be read again */
	uint16_t words_count;
	uint8_t truncated; /* enum truncation */
	uint8_t python;	   /* enum python_end */
};

/* A process that is sampled. Map `targets`, key tgid. */
struct target_value {
	uint64_t id;	 /* tells incarnations of a pid apart: new at each exec and rename */
	uint32_t probes; /* 1 << probe, WANTED_SCHED: what this process is wanted for */
	uint32_t spans;	 /* its mappings, in the arena (bpf/shared/packed.h); 0: not known */
	uint16_t spans_count;
	uint8_t unread;	  /* its next stack wakes the daemon, which may not have its maps yet */
	uint8_t asked;	  /* each wakes it: the process's runtime didn't answer yet */
	uint32_t python;  /* its struct cpython, in the arena (bpf/shared/cpython.h); 0: none */
	uint32_t hotspot; /* its struct hotspot, in the arena (bpf/shared/hotspot.h); 0: none */
	uint32_t spans_number; /* of those spans alone, which never change; 0: none */
	uint32_t exec_pages;   /* struct stack's, for which the daemon was woken last */
	uint32_t pad;
};

/* What the daemon found of programs of one name, by the name alone, or of those in some cgroups, by
 * these alone. */
enum verdict_word {
	VERDICT_MATCHES = 1, /* for sure, whatever the command line */
	VERDICT_DOES_NOT,    /* no snooper matches by that */
};

/*
 * A process's cgroups, by the ids of their kernfs nodes, which are never used again: in the v2
 * hierarchy, and in that of a v1 controller (0: none has a hierarchy of its own).
 */
struct cgroup_key {
	uint64_t v2;
	uint64_t v1;
};

/* Map `verdicts`. */
enum verdict_on {
	VERDICT_ON_NAME,
	VERDICT_ON_GROUP, /* it is there: the daemon has been told where these cgroups lie */
};

struct verdict_key {
	uint64_t on; /* enum verdict_on */
	union {
		char comm[COMM_BYTES];
		struct cgroup_key group;
	};
};

/* One of another selection is void. */
struct verdict {
	uint64_t selection; /* struct control.selection at that time */
	uint64_t word;	    /* enum verdict_word */
};

/* How a probe is thinned (bpf/core/guard.h). A cache line for each. */
struct guard {
	uint32_t interval; /* the stack of one event in so many is taken; 0, 1: of each */
	uint32_t pad;
	uint64_t rate_ppm; /* of one CPU, in the slice before */
	uint64_t slice_ns; /* when the slice began, CLOCK_MONOTONIC */
	uint64_t spent_ns; /* in this slice, by stacks */
	uint64_t events;   /* in this slice */
	uint64_t unused[3];
};

/* What the daemon tells the programs. Map `control`, key 0. */
struct control {
	uint64_t window; /* number of the window now; its lowest bit chooses the map of counts */
	uint64_t hash_seed;
	uint32_t follow_new;	 /* new programs and names may match: report them */
	uint32_t pending_probes; /* what a process not yet decided on is sampled for */
	uint64_t budget_ppm;	 /* of one CPU, what all probes together may use; 0: no guard */
	uint64_t by_cpu;	 /* 1 << probe: its counts are apart for each CPU */
	uint64_t selection;	 /* changes whenever what is wanted does; never used again */
	uint64_t look_ns; /* the daemon reads stacks by then (bpf/stack/wake.h), CLOCK_MONOTONIC */
	uint64_t by_cgroup;		  /* container and cgroup snoopers are in force */
	struct guard guards[PROBE_COUNT]; /* the programs' own */
};

enum life_kind {
	LIFE_FORK = 1,
	LIFE_EXEC,
	LIFE_RENAME,
	LIFE_EXIT,
	LIFE_MOVED, /* into other cgroups; `group` are the new ones */
	LIFE_GROUP, /* a struct group_event */
};

/* What happened to a target, or to a process that may become one. */
struct life_event {
	uint16_t kind;
	uint16_t verdict; /* LIFE_EXEC: enum verdict_word, or 0 */
	uint32_t tgid;
	uint32_t parent; /* LIFE_FORK: tgid of the parent, a target */
	uint32_t probes; /* LIFE_FORK: what the child inherits */
	uint64_t id;	 /* the target's new id; LIFE_EXIT: the one that ended */
	uint64_t old_id; /* LIFE_FORK: the parent's; LIFE_EXEC, LIFE_RENAME: the one before, or 0 */
	uint64_t start_ns; /* the process's start, CLOCK_BOOTTIME */
	uint64_t time_ns;  /* CLOCK_MONOTONIC */
	char comm[COMM_BYTES];
	struct cgroup_key group; /* LIFE_EXIT: not set */
	uint32_t ns_pid;	 /* its pid in its own pid namespace; 0: not known */
	uint32_t pad;
};

#define GROUP_NAME_BYTES  256  /* of one cgroup, and a NUL */
#define GROUP_NAMES_BYTES 2048 /* of a path's */
#define GROUP_LEVELS	  32

/* Where cgroups lie, before the first event that has their key: the names from the cgroup up to the
 * hierarchy's root, which has none, each with a NUL. */
struct group_event {
	uint16_t kind; /* LIFE_GROUP */
	uint16_t cut;  /* a path was too long, or could not be read: neither is known */
	uint16_t v2_bytes, v1_bytes;
	struct cgroup_key key;
	char names[2 * GROUP_NAMES_BYTES + GROUP_NAME_BYTES]; /* those of v2, then those of v1 */
};
#define GROUP_EVENT_LEAST __builtin_offsetof(struct group_event, names)

_Static_assert(sizeof(struct cgroup_key) == 16, "a map key without padding");
_Static_assert(sizeof(struct stack_key) == 16, "a map key without padding");
_Static_assert(sizeof(struct count_key) == 24, "a map key without padding");
_Static_assert(sizeof(struct stack) == 64, "the ring's records are 8-byte aligned");
_Static_assert(sizeof(struct guard) == 64, "a cache line");
_Static_assert(sizeof(struct control) % 64 == 0, "guards are at cache lines");
_Static_assert(sizeof(struct target_value) == 40, "a map value without padding");
_Static_assert(sizeof(struct life_event) == 88, "the ring's records are 8-byte aligned");
