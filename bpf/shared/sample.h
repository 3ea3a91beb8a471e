/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plain data that the BPF programs and the daemon share: stacks, their counts, life events of
 * processes, and what is wanted of which process. uint32_t and its kin come from stdint.h or from
 * bpf/core/kernel_types.h.
 */
#pragma once

#ifndef __bpf__
#include <stdint.h>
#endif

#include "bpf/shared/cpython_layout.h"
#include "bpf/shared/hotspot_tables.h"
#include "bpf/shared/named.h"
#include "bpf/shared/probe.h"
#include "bpf/shared/sched_probes.h"

#define COMM_BYTES	  16
#define KERNEL_FRAMES_MAX 127 /* default of kernel.perf_event_max_stack */
#define USER_FRAMES_MAX	  1024
#define NATIVE_WORDS_MAX  (KERNEL_FRAMES_MAX + USER_FRAMES_MAX)
#define WORDS_MAX	  (NATIVE_WORDS_MAX + PYTHON_WORDS_MAX)

/*
 * A frame is one word (a Python frame takes two: bpf/shared/cpython_layout.h):
 *
 *	 63      56 55                                             0
 *	+----------+------------------------------------------------+
 *	|   kind   |  address; kernel addresses without sign bits   |
 *	+----------+------------------------------------------------+
 *
 * 56 bits hold every user address of five-level paging; kernel addresses begin with ones.
 */
enum frame_kind {
	FRAME_NATIVE = 1,	 /* user code, the address of the instruction itself */
	FRAME_NATIVE_RETURN = 2, /* user code, a return address: look up the byte before it */
	FRAME_KERNEL = 3,
	FRAME_KERNEL_RETURN = 4,
	FRAME_PYTHON = 5,	/* bpf/shared/cpython_layout.h */
	FRAME_PYTHON_ENTRY = 6, /* a Python frame for which the interpreter's loop was entered */
	FRAME_JAVA = 7,		/* a pc in a Java VM's code cache: bpf/shared/hotspot_tables.h */
	FRAME_JAVA_RETURN = 8,	/* a return address in a Java VM's code cache */
	FRAME_JAVA_METHOD = 9,	/* an interpreted Java method */
	FRAME_JAVA_DETAIL = 10, /* the second word of a Java frame */
};

#define FRAME_KIND_SHIFT 56
#define FRAME_ADDRESS	 ((1ULL << FRAME_KIND_SHIFT) - 1)

/* Why a stack does not reach its root. */
#define TRUNCATIONS(X)                                                                             \
	X(TRUNCATED_NOT, "none")                                                                   \
	/* code without unwind tables, and no plausible frame pointer */                           \
	X(TRUNCATED_FRAME_POINTER, "frame_pointer")                                                \
	X(TRUNCATED_MEMORY, "memory") /* the target's stack could not be read */                   \
	X(TRUNCATED_DEPTH, "depth")   /* more frames than are walked */                            \
	/* the thread is in the middle of execve: the old stack is gone */                         \
	X(TRUNCATED_EXEC, "exec")                                                                  \
	X(TRUNCATED_EXITING, "exiting") /* the process has given back its memory already */        \
	/* (by the daemon) the process ended before its maps could be read */                      \
	X(TRUNCATED_UNMAPPED, "unmapped")                                                          \
	/* ARM's 32-bit code, which isn't walked */                                                \
	X(TRUNCATED_NARROW, "narrow")                                                              \
	/* the unwind table of the code is still being made */                                     \
	X(TRUNCATED_TABLE_PENDING, "table_pending")                                                \
	/* the walker of Python's or Java's frames was still being loaded */                       \
	X(TRUNCATED_RUNTIME_PENDING, "runtime_pending")                                            \
	/* The code has a table, but it could not be read or found no room. */                     \
	X(TRUNCATED_NO_TABLE, "no_table")                                                          \
	X(TRUNCATED_RULE, "rule") /* the unwind rule is of an unsupported kind */                  \
	/* the unwind rule needs a register that isn't known any more */                           \
	X(TRUNCATED_REGISTER, "register")                                                          \
	/* a return address lies in no known executable mapping */                                 \
	X(TRUNCATED_ADDRESS, "address")                                                            \
	/* the caller's frame would lie below: the stack is damaged */                             \
	X(TRUNCATED_ORDER, "order")                                                                \
	X(TRUNCATED_PYTHON_DEPTH, "python_depth") /* more Python frames than are walked */         \
	X(TRUNCATED_PYTHON, "python")		  /* the Python frames could not all be read */    \
	X(TRUNCATED_JAVA, "java")		  /* the caller of Java code could not be found */ \
	/* a virtual thread's older frames lie in the Java heap */                                 \
	X(TRUNCATED_FROZEN, "frozen")
enum truncation { TRUNCATIONS(NAMED_VALUE) TRUNCATED_COUNT };

/* Where a sample was lost. */
#define LOSSES(X)                                                                                  \
	X(LOST_RING_FULL, "ring_full")	    /* a new stack found no room in the ring buffer */     \
	X(LOST_COUNTS_FULL, "counts_full")  /* the window's map of counts is full */               \
	X(LOST_WALK_BUSY, "walk_busy")	    /* all walk buffers of this CPU were taken */          \
	X(LOST_LIFE_FULL, "life_ring_full") /* a fork, exec or exit event found no room */         \
	/* a new process found no room in the map of targets */                                    \
	X(LOST_TARGETS_FULL, "targets_full")                                                       \
	X(LOST_SENT_FULL, "stacks_full") /* the window's map of stacks is full */                  \
	/* the record of a thread, or of a socket's last sender, could not be made */              \
	X(LOST_RECORDS_FULL, "records_full")                                                       \
	/* the CPU times of ended threads found no room (bpf/process/exited.h) */                  \
	X(LOST_GONE_FULL, "ended_full")                                                            \
	/* an allocation is counted, but found no room in the map `held` */                        \
	X(LOST_HELD_FULL, "held_full")                                                             \
	/* an event of mmap or munmap found no room in its ring buffer */                          \
	X(LOST_MAPPED_FULL, "mapped_full")                                                         \
	/* a call or another event that has begun found no room until its end */                   \
	X(LOST_PENDING_FULL, "pending_full")                                                       \
	/* the end of an event never came, or too late (bpf/stack/probe_halves.h) */               \
	X(LOST_UNENDED, "unended")                                                                 \
	/* the size of a page fault (bpf/shared/faults.h), or the bytes of a call or of a          \
	 * request, could not be measured */                                                       \
	X(LOST_UNMEASURED, "unmeasured")                                                           \
	/* Counted by the daemon: */                                                               \
	/* names of a container decide on it, and were not known yet */                            \
	X(LOST_CONTAINER_UNKNOWN, "container_unknown")                                             \
	/* the event of the process was lost; or it ended before its command line could be read */ \
	X(LOST_PROCESS_UNKNOWN, "process_unknown")                                                 \
	/* a count without its stack; bpf/io/socket_sender.h counts such, too */                   \
	X(LOST_STACK_MISSING, "stack_missing")                                                     \
	X(LOST_READ_FAILED, "read_failed") /* a window's counts could not be read or kept */
enum loss { LOSSES(NAMED_VALUE) LOST_COUNT };

/* Owner of a loss: the number of a probe, or … */
#define LOSERS_ALL   PROBE_COUNT       /* what all probes need: events, windows */
#define LOSERS_SCHED (PROBE_COUNT + 1) /* probes of the feature /sched */
#define LOSERS_COUNT (PROBE_COUNT + 2)

/* Disks that take bios without a request, which the probe blkio only counts (bpf/blkio.bpf.c). */
#define BARE_DISKS(X)                                                                              \
	X(BARE_DISK, "no_requests")    /* what it takes is with it, or nobody says where */        \
	X(STACKED_DISK, "disks_below") /* it consists of other disks, which get it */
enum bare_disk { BARE_DISKS(NAMED_VALUE) BARE_DISK_COUNT };

/* Counters of a CPU. Map `counters`, key 0. */
struct counters {
	uint64_t samples[PROBE_COUNT];	/* stacks counted */
	uint64_t left_out[PROBE_COUNT]; /* events left out by the guard; others stand for them */
	uint64_t lost[LOSERS_COUNT][LOST_COUNT]; /* weights of samples; events */
	uint64_t waits_over_maxblock;
	uint64_t ring_thread_requests; /* of the probe io: the kernel's own thread submitted them */
	uint64_t unseen_bios[BARE_DISK_COUNT], unseen_bytes[BARE_DISK_COUNT]; /* of targets */
	uint64_t slow_waits[SCHED_COUNT]; /* delays above sched_settings.slow_ns */
	uint64_t slow_lost;		  /* slow waits that were lost: the ring buffer was full */
	uint64_t hists_refused;		  /* values of groups, or cells, that found no room */
	/* spans of the scheduler that ended before they began, by the clock: not counted */
	uint64_t spans_backwards;
	uint64_t draw; /* state of the CPU's random number generator (bpf/core/guard.h) */
};

/* Key of a stack: equal stacks in one window have the same key. */
struct stack_key {
	uint64_t hash; /* of all of struct stack but the times */
	uint32_t tgid;
	uint32_t probe;
};

/* Key of a count in a window: samples with the same key are counted together. */
struct count_key {
	struct stack_key stack;
	uint32_t tid;
	uint16_t cpu;  /* CPU_ANY: CPUs aren't counted apart (struct control.by_cpu) */
	uint16_t part; /* enum count_part, or a number of the probe's own; | PART_SECOND */
};

/*
 * Parts of one stack that are counted apart. A part may stand under leaf frames of its own (struct
 * kind.parts). These are the parts of offcpu and memory; other probes have numbers of their own,
 * from 1 on.
 */
enum count_part {
	PART_ALL,
	PART_RUNQUEUE, /* off-CPU: the time after the wake-up */
	PART_ANON,     /* mem: anonymous memory */
	PART_THP,      /* mem: anonymous memory, a huge page */
	PART_FILE,     /* mem: pages of a file */
	PART_SHMEM,    /* mem: shared memory, tmpfs */
	PART_COW,      /* mem: a page copied at a write; RSS need not grow */
	PART_MAPPED,   /* mem_glibc: mmap and mremap by the program itself, a view of its own */
};

/*
 * Mark on a part: the weight is a second value (VIEW_SECOND) of events that are counted without the
 * mark as well, or of other events of the probe.
 */
#define PART_SECOND 0x8000

#define CPU_ANY	    0xfff

struct stack_count {
	uint64_t weight;  /* weight of the samples; off-CPU: ns; memory: bytes */
	uint64_t samples; /* stacks taken; fewer than events if the guard thins them */
	/* off-CPU, memory: the waits, faults, allocations that the samples stand for; other probes:
	 * the same as `weight`. */
	uint64_t events;
	/* off-CPU: threads that still wait there when the window ends; other events with a begin
	 * and an end: those that go on then. The daemon keeps the stack's frames for them. */
	uint64_t waiting;
};

/*
 * A stack that is new in its window: sent once, before it is counted. Behind the struct lie
 * `words_count` words, the frames, leaf first: kernel frames, then user frames, then the words of
 * Python frames or the details of Java frames (a process with both has those of Java).
 */
struct stack {
	struct stack_key key;
	uint64_t target_id; /* struct target_value.id */
	uint64_t time_ns;   /* CLOCK_MONOTONIC */
	uint64_t window;    /* struct control.window at the time of the sample */
	char comm[COMM_BYTES];
	/* Pages of executable mappings of the process: when this number changes, the daemon has to
	 * read the process's maps again. */
	uint32_t exec_pages;
	uint16_t words_count;
	uint8_t truncated; /* enum truncation */
	uint8_t python;	   /* enum python_end */
};

/*
 * In the place of a stack's probe: the record has no frames. A thread of the process begins to
 * wait, and its stack comes when the wait is over; the daemon may have to look at the process
 * before.
 */
#define NOTICE_KIND 0xfffffffeU

/* Runtimes whose frames a program walks (bpf/stack/hand_over.h). */
#define WALKS_PYTHON 1U
#define WALKS_JAVA   2U
#define WALKS_ALL    3U

/* A process that is sampled. Value of the map `targets`; the key is the tgid. A place in the arena
 * is the number of its first word. */
struct target_value {
	uint64_t id;	 /* tells incarnations of a pid apart: a new id at each exec and rename */
	uint32_t probes; /* mask of 1 << probe and WANTED_SCHED: what the process is wanted for */
	uint32_t spans;	 /* the spans in the arena (bpf/shared/packed.h); 0: not known */
	uint16_t spans_count;
	/* 1: the next stack wakes the daemon, which may not have the maps yet. */
	uint8_t unread;
	/* 1: each stack wakes the daemon, for the process's runtime has not answered yet. */
	uint8_t asked;
	uint32_t python;       /* the struct cpython in the arena; 0: no CPython */
	uint32_t hotspot;      /* the struct hotspot in the arena; 0: no Java VM */
	uint32_t spans_number; /* number of this run of spans, which never changes; 0: none */
	uint32_t exec_pages;   /* struct stack.exec_pages for which the daemon was woken last */
	uint32_t noticed;      /* 1: the daemon was told that a thread waits (NOTICE_KIND) */
};

/* Verdict of the daemon on processes of one name, by the name alone, or on processes in some
 * cgroups, by the cgroups alone. */
enum verdict_word {
	VERDICT_MATCHES = 1, /* a snooper matches, whatever the command line */
	VERDICT_DOES_NOT,    /* no snooper matches by that name or those cgroups */
};

/*
 * Cgroups of a process, by the ids of their kernfs nodes, which are never used again: the cgroup in
 * the v2 hierarchy, and the cgroup of a v1 controller (0: no controller has a hierarchy of its
 * own).
 */
struct cgroup_key {
	uint64_t v2;
	uint64_t v1;
};

/* Kind of a key of the map `verdicts`. */
enum verdict_on {
	VERDICT_ON_NAME,
	VERDICT_ON_GROUP, /* an entry exists: the daemon was told the paths of these cgroups */
};

struct verdict_key {
	uint64_t on; /* enum verdict_on */
	union {
		char comm[COMM_BYTES];
		struct cgroup_key group;
	};
};

/* Value of the map `verdicts`. A verdict of another selection is void. */
struct verdict {
	uint64_t selection; /* struct control.selection when the verdict was made */
	uint64_t word;	    /* enum verdict_word */
};

/* State of a probe's guard (bpf/core/guard.h). One cache line. */
struct guard {
	uint32_t interval; /* one event in so many has its stack taken; 0, 1: each event */
	uint32_t pad;
	uint64_t rate_ppm; /* run time in the last slice, in ppm of one CPU */
	uint64_t slice_ns; /* when the slice began, CLOCK_MONOTONIC */
	uint64_t spent_ns; /* run time of stacks in this slice, ns */
	uint64_t events;   /* events in this slice */
	uint64_t unused[3];
};

/* Settings that the daemon writes for the programs. Map `control`, key 0. */
struct control {
	/* Number of the current window; its lowest bit chooses the map of counts. */
	uint64_t window;
	uint64_t hash_seed;
	uint32_t follow_new;	 /* 1: new programs and names may match: report them */
	uint32_t pending_probes; /* probes that a process is sampled for until it is decided on */
	uint64_t budget_ppm; /* run time allowed to all probes, in ppm of one CPU; 0: no guard */
	uint64_t by_cpu;     /* mask of 1 << probe: probes whose counts are apart for each CPU */
	uint64_t selection;  /* changes with each change of the selection; never used again */
	/* When the daemon reads stacks next (bpf/stack/wakeup.h), CLOCK_MONOTONIC ns. */
	uint64_t look_ns;
	uint64_t by_cgroup;		  /* 1: container or cgroup snoopers are in force */
	struct guard guards[PROBE_COUNT]; /* written by the programs */
};

enum life_kind {
	LIFE_FORK = 1,
	LIFE_EXEC,
	LIFE_RENAME,
	LIFE_EXIT,
	LIFE_MOVED, /* the process moved into other cgroups, which are in `group` */
	LIFE_GROUP, /* not a life_event: a struct group_event */
};

/* Record of the ring buffer `life`: what happened to a target, or to a process that may become
 * one. */
struct life_event {
	uint16_t kind;
	uint16_t verdict; /* LIFE_EXEC: enum verdict_word, or 0 */
	uint32_t tgid;
	uint32_t parent; /* LIFE_FORK: tgid of the parent, which is a target */
	uint32_t probes; /* LIFE_FORK: the probes that the child inherits */
	uint64_t id;	 /* the target's new id; LIFE_EXIT: the id of the target that ended */
	/* LIFE_FORK: id of the parent; LIFE_EXEC, LIFE_RENAME: the id before, or 0. */
	uint64_t old_id;
	uint64_t start_ns; /* start of the process, CLOCK_BOOTTIME ns */
	uint64_t time_ns;  /* CLOCK_MONOTONIC */
	char comm[COMM_BYTES];
	struct cgroup_key group; /* LIFE_EXIT: not set */
	uint32_t ns_pid;	 /* the pid in the process's own pid namespace; 0: not known */
	uint32_t pad;
};

#define GROUP_NAME_BYTES  256  /* bytes of one cgroup's name, with its NUL */
#define GROUP_NAMES_BYTES 2048 /* bytes of all names of a path */
#define GROUP_LEVELS	  32

/* Record of the ring buffer `life`: the paths of a pair of cgroups, sent before the first event
 * with their key. Each path is a list of names, each with a NUL, from the cgroup up to the
 * hierarchy's root, which has no name. */
struct group_event {
	uint16_t kind; /* LIFE_GROUP */
	uint16_t cut;  /* 1: a path was too long or could not be read: neither path is known */
	uint16_t v2_bytes, v1_bytes;
	struct cgroup_key key;
	char names[2 * GROUP_NAMES_BYTES + GROUP_NAME_BYTES]; /* names of v2, then of v1 */
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
