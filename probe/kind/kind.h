/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * THE TABLE of probes: a `kind` is a probe's row. Each row is written in the probe's own file,
 * probes/NAME.c; the list of all is PROBE_LIST (bpf/shared/probe.h). Constant; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/why.h"
#include "output/format/pprof_shape.h"
#include "bpf/shared/sample.h"
#include "capability/capability.h"
#include "select/event_settings.h"

struct allocators;
struct counters;
struct event_files;
struct ktypes;
struct loadable;
struct measures;
struct param;
struct tracer;
struct view_row;

#define KIND_NEEDS_MAX 16

/*
 * Capability `what` is required. If it is missing: with `instead`, that is used (the probe is
 * limited if `limit` is set), and without both the probe can't run; with only `limit`, the probe
 * runs limited; with neither, it can't run.
 */
struct kind_need {
	/* what: CAN_NOTHING ends the list; instead: CAN_NOTHING if there is none */
	enum capability what, instead;
	const char *limit; /* a sentence; NULL: none */
};

/* What each probe needs: to have programs run, and to get their data. */
/* clang-format off */
#define NEEDS_PROGRAMS \
	{.what = CAN_KNOW_TYPES}, {.what = CAN_LOCK_MEMORY}, {.what = CAN_RAW_TRACEPOINT}
#define NEEDS_DATA \
	{.what = CAN_READ_KERNEL}, {.what = CAN_RING_BUFFER}, {.what = CAN_MAP_IN_MAP}, \
	{.what = CAN_SHARE_MAP}, {.what = CAN_READ_BATCH}, {.what = CAN_SEE_PIDS}
/* clang-format on */

/* What uploads call a probe's data. */
struct upload_kind {
	const char *series; /* __name__ of push.v1 */
	const char *app;    /* gala-gopher's name */
	const char *suffix; /* suffix of a name for /ingest, its type; "": process_cpu */
	const char *units;
	/* sampleRate: a value is a second divided by it; 0: by the period */
	uint64_t rate;
};

/* A page of /debug/pprof, as Go's net/http/pprof has them. */
struct pprof_page {
	const char *name;  /* NULL ends the list */
	const char *view;  /* NULL: the probe's first view */
	long long seconds; /* default; 0: what the configured probe has */
	const char *words; /* text in the index */
};

/* What start() and stop() work with; one for each probe, in engine/probe_switch. */
struct probe_run {
	enum probe probe;
	struct tracer *tracer;
	struct allocators *allocators;
	uint64_t period_ns;   /* of the sampling clock */
	const void *settings; /* values of the row's `params`, in the probe's own struct */
	void *own;	      /* for start() to keep something until stop(); NULL at first */
	struct event_files *event_files;
	/* Stops the probe, which can't go on: a negative errno, and a sentence that GET shows. Set
	 * by the engine; not to be called by start() or stop(). */
	void (*fail)(struct probe_run *run, int error, const struct why *why);
};

/* Room for the struct of a probe's own numbers. */
#define KIND_STATS_BYTES 128
union kind_stats {
	uint64_t numbers[KIND_STATS_BYTES / sizeof(uint64_t)];
	char bytes[KIND_STATS_BYTES];
};
#define KIND_STATS_FIT(of)                                                                         \
	_Static_assert(sizeof(of) <= sizeof(union kind_stats), "KIND_STATS_BYTES")

#define PART_FRAMES 2

/* Leaf frames of a part of a stack (struct count_key.part), the last one the leaf; NULL: none. */
struct part_row {
	const char *frames[PART_FRAMES];
};

#define PART_NAME_BYTES 40

/* Leaf frames of a part that only a run can name; `row` may lead to `text`. */
struct part_named {
	struct part_row row;
	char text[PART_FRAMES][PART_NAME_BYTES];
};

/*
 * Names of a probe that a user defines. They change on the loop's thread, and only while nobody
 * uses them: from `free_ns` on, some time after the probe has stopped.
 */
struct kind_slot {
	char word[EVENT_WORD_BYTES];	    /* the user's; "": nobody has defined it */
	char name[EVENT_WORD_BYTES + 8];    /* event:WORD */
	char title[EVENT_WORD_BYTES + 8];   /* Event WORD */
	char folder[EVENT_WORD_BYTES + 16]; /* of its second view: event:WORD.time */
	char second_title[EVENT_WORD_BYTES + 16];
	char series[EVENT_WORD_BYTES + 8];
	char app[EVENT_WORD_BYTES + 24];
	bool is_named; /* the params in force name it */
	bool is_on;
	uint64_t free_ns; /* loop_now_ns() */
};

struct kind {
	const char *name;	/* in URLs, bodies and folders */
	const char *title;	/* of the probe's pictures */
	const char *count_name; /* unit of its weights */
	/* users who aren't administrators may use it on their own processes */
	bool for_users;
	bool by_bytes;	    /* events are drawn by their bytes: a sample stands for several */
	bool by_period;	    /* it samples who has a CPU: a sample is a period of the clock */
	bool at_switch;	    /* it sees threads leave their CPU; looks for those that are blocked */
	bool at_tracepoint; /* stacks are taken in one: the tracing's own frames are their leaf */
	bool holds;	    /* what its events are of is held until it is freed: the live heap */
	/* weight of the kernel's side that makes one unit, of the probe's weight and of its second
	 * value (PART_SECOND); 0: 1 */
	uint64_t unit, second_unit;
	const char *event_name; /* what is counted beside the weight; NULL: nothing */
	const char *event_title;
	struct pprof_shape pprof;
	struct upload_kind upload;
	unsigned deepflow; /* DeepFlow's number of such data, in .jsonl */
	/*
	 * A Java VM can record it (JFR): the most weight of a VM in a window, so that sums of many
	 * windows don't overflow. 0: it can't.
	 */
	uint64_t recorded_max;
	const struct pprof_page *pages; /* NULL: none */
	const struct view_row *views;	/* by enum view (profile/view.h); NULL: it has one */
	const struct part_row *parts;	/* by a part's number; NULL: no part has frames */
	size_t parts_count;
	/* Names a part that `parts` has no row of: of a device. Any thread. NULL: none is named. */
	const struct part_row *(*name_part)(unsigned number, struct part_named *room);
	bool counts_empty;	/* an event without weight counts as well: a call of no bytes */
	bool of_hardware;	/* many machines lack what it needs: that is no failure of doctor */
	bool is_part_of_events; /* its weight is a part of its events: misses of look-ups */
	bool second_apart;	/* the second value is of events that the first one is not of */
	struct kind_slot *slot; /* a user defines the probe; NULL: it is built in */
	const struct param *params; /* a row without a name ends them (select/param.h) */
	struct kind_need needs[KIND_NEEDS_MAX];

	/* What start() loads (kernel/preload.h); NULL ends the list. NULL: nothing, or objects of
	 * its own. */
	const struct loadable *const *loads;
	/* Loads what can be loaded before targets' files are opened; NULL: nothing. */
	void (*prepare)(struct probe_run *run);
	/*
	 * Loads and attaches its hooks; called again while it runs, takes over changed settings.
	 * Returns 0, or a negative errno with a sentence in `why`; stop() is called then as well.
	 */
	int (*start)(struct probe_run *run, struct why *why);
	/* Detaches its hooks; nothing happens if it doesn't run. Unloading may take longer. */
	void (*stop)(struct probe_run *run);
	/*
	 * Numbers of the probe's own, for /metrics and GET (path "status.probes.NAME"), and what
	 * fills in the struct that their rows lie in. NULL: it has none.
	 */
	const struct measures *measures;
	void (*count)(const struct tracer *tracer, const struct counters *counters,
		      union kind_stats *stats);
	/*
	 * What the probe lacks on this kernel, by its types (capability/ktypes.h): a sentence on
	 * why the probe can't run at all, and one on what it doesn't show; "": nothing. NULL:
	 * nothing. `never`: what no kernel shows to it; NULL: nothing.
	 */
	const char *(*lack)(const struct ktypes *types);
	const char *(*limit)(const struct ktypes *types);
	const char *never;
	/* Returns a sentence on what is missing while it runs; "": nothing. NULL: nothing. */
	const char *(*state)(const struct probe_run *run);
};

#define KIND_DECLARATION(number, name) extern const struct kind probe_##name;
PROBE_LIST(KIND_DECLARATION)

/* Returns the row of a probe (bpf/shared/probe.h). */
const struct kind *kind_get(enum probe probe);

/* Converts a weight of the kernel's side to the unit of the part's view, rounded up. */
uint64_t kind_weight(enum probe probe, unsigned part, uint64_t weight);

/* Returns whether a part's events are counted there; else they are counted without PART_SECOND. */
bool kind_counts_events(enum probe probe, unsigned part);

/* Returns the leaf frames of a part, which may be in `room`; NULL: it has none. */
const struct part_row *kind_part(enum probe probe, unsigned part, struct part_named *room);

/* Returns the number of the probe with that name (any case), or -ENOENT. */
int kind_find(const char *name);

/* Returns whether the probe exists: it is built in, or a user has defined it. */
bool kind_exists(enum probe probe);

/* What documents and lists call all probes that users define. */
#define KIND_OF_USERS "event:NAME"

/* Gives a probe that a user defines its names. Loop thread; nobody may use the earlier ones. */
void kind_define(enum probe probe, const char *word);

/* Has kind_find() find such a probe no more; its names stay. */
void kind_undefine(enum probe probe);

/* Returns whether such a probe may get other names now. */
bool kind_is_free(enum probe probe, uint64_t now_ns);

/* Return the first probe whose row says so: `by_period`, `holds`. There is one of each. */
enum probe kind_of_clock(void);
enum probe kind_of_heap(void);

/* Return the probes (1 << number) whose rows say so: `at_switch`, `recorded_max`. */
uint32_t kinds_at_switch(void);
uint32_t kinds_recorded(void);

#define KIND_UNSEEN_BYTES 320

/*
 * Writes what isn't shown to the probe, on any kernel and on this one. "": nothing, or `types` is
 * NULL, as long as nobody has looked for them. Returns whether there could be anything.
 */
bool kind_unseen(const struct kind *kind, const struct ktypes *types, char text[KIND_UNSEEN_BYTES]);

/*
 * Judge whether something with these needs (KIND_NEEDS_MAX) can run, from the findings on all
 * capabilities: fill in whether, why not, or why only with limits. A probe is judged by the
 * kernel's types as well; NULL: they can't be read.
 */
void needs_judge(const struct kind_need *needs, const struct finding findings[CAPABILITY_COUNT],
		 struct finding *finding);
void kind_judge(const struct kind *kind, const struct finding findings[CAPABILITY_COUNT],
		const struct ktypes *types, struct finding *finding);
