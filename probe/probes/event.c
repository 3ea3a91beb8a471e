// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The probes event:NAME: tracepoints, and functions of the kernel and of files, that a user names
 * (params.events), each in a slot of its own. All slots are alike.
 */
#include "event/event_files.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "capability/uretprobe_check.h"
#include "bpf/shared/event_arg.h"
#include "event.skel.h"
#include "event/arg_place.h"
#include "event/event_text.h"
#include "kernel/tracer_part.h"
#include "loop/loop.h"
#include "measure/measure.h"
#include "probes/probe_needs.h"
#include "profile/view.h"

#define CALLS_MAX 4096		  /* that go on at a time */
#define REST_NS	  (60 * NS_PER_S) /* until a slot may get another name */
#define LOOK_NS	  NS_PER_S	  /* between two looks at the hits */
#define STRIKES	  3		  /* looks in a row above the bound */

/* What a hit costs at least, ns, whatever the program does (doc/event.md). Points in files are
 * measured (event/point_cost.h). */
#define TRACEPOINT_NS 50
#define KERNEL_NS     100
#define PROGRAM_NS    60 /* the look at whose hit it is */

/* Of all processes; `returning`: hits whose return is probed as well. */
struct hit_counts {
	uint64_t all, returning;
};

/* A slot's state, on the loop's thread; the tracer is the only one. */
struct event_run {
	struct probe_run *run;
	struct event_text event;
	struct event_settings settings; /* that it runs with */
	struct bpf_link *entry, *back;	/* NULL: not attached; in files, event_files attaches */
	bool of_file;
	struct loop_timer timer;
	struct hit_cost cost;
	struct hit_counts hits; /* at the last look */
	uint64_t looked_ns, cost_ppm;
	unsigned strikes;
};

static struct event_run runs[PROBE_SLOTS_COUNT];

/* ---- the object ---- */

static struct event_bpf *open_slot(const struct load_from *from, enum probe probe)
{
	struct event_bpf *bpf = tracer_open(from->tracer, event);
	int session;

	if (!bpf)
		return NULL;
	session = tracer_ktypes(from->tracer)->uprobe_session;
	tracer_set_stacks(bpf);
	bpf->rodata->event_probe = probe;
	bpf->rodata->halves_max = CALLS_MAX;
	bpf_map__set_max_entries(bpf->maps.halves, CALLS_MAX);
	bpf_program__set_autoattach(bpf->progs.at_point, false);
	bpf_program__set_autoattach(bpf->progs.at_return, false);
	bpf_program__set_autoattach(bpf->progs.at_session, false);
	bpf_program__set_autoattach(bpf->progs.at_tracepoint, false);
	bpf_program__set_autoload(bpf->progs.at_session, session != 0);
	if (session)
		bpf_program__set_expected_attach_type(bpf->progs.at_session,
						      (enum bpf_attach_type)session);
	return bpf;
}

LOADABLE_FUNCTIONS(event)

#define EVENT_OBJECT(number, name)                                                                 \
	static struct event_bpf *open_##name(const struct load_from *from)                         \
	{                                                                                          \
		return open_slot(from, PROBE_##number);                                            \
	}                                                                                          \
	OWN_LOADABLE(name, event)

PROBE_SLOTS(EVENT_OBJECT)

#define EVENT_LOADABLE(number, name) &loadable_##name,
static const struct loadable *const loadables[] = {PROBE_SLOTS(EVENT_LOADABLE)};

/* ---- the rate of hits ---- */

static uint64_t sum_hits(const struct event_bpf *bpf, enum event_hit which)
{
	int cpus = libbpf_num_possible_cpus();
	_cleanup_free_ uint64_t *each = cpus > 0 ? calloc((size_t)cpus, sizeof(*each)) : NULL;
	uint32_t index = which;
	uint64_t sum = 0;

	if (!each || bpf_map_lookup_elem(bpf_map__fd(bpf->maps.hits), &index, each) < 0)
		return 0;
	for (int i = 0; i < cpus; i++)
		sum += each[i];
	return sum;
}

static bool is_in_file(const struct event_text *event)
{
	return event->type == EVENT_USER || event->type == EVENT_USDT;
}

static struct hit_counts read_hits(const struct event_run *event)
{
	const struct event_bpf *bpf = tracer_own_bpf(event->run->own);
	struct hit_counts hits = {.all = sum_hits(bpf, EVENT_HIT)};

	if (!bpf->bss->event_timed)
		return hits;
	hits.returning = is_in_file(&event->event) && bpf_program__fd(bpf->progs.at_session) >= 0
				 ? sum_hits(bpf, EVENT_HIT_RETURNING)
				 : hits.all;
	return hits;
}

/* Finds what a hit costs now, and tells the guard. */
static void update_cost(struct event_run *event)
{
	struct event_bpf *bpf = tracer_own_bpf(event->run->own);

	if (is_in_file(&event->event))
		event->cost = event_files_cost(event->run->event_files, event->run->probe);
	else if (event->event.type == EVENT_KERNEL)
		event->cost = (struct hit_cost){KERNEL_NS, KERNEL_NS};
	else
		event->cost = (struct hit_cost){.entry_ns = TRACEPOINT_NS};
	bpf->data->event_skipped_ns = event->cost.entry_ns + PROGRAM_NS;
}

/* Gives the event up if its hits alone cost more than max_overhead, for some seconds. */
static void look_at_hits(void *arg)
{
	struct event_run *event = arg;
	const struct tracer *tracer = event->run->tracer;
	const struct hit_counts hits = read_hits(event);
	uint64_t now_ns = loop_now_ns(), elapsed_ns = now_ns - event->looked_ns + 1;
	uint64_t rate = (hits.all - event->hits.all) * NS_PER_S / elapsed_ns;
	uint64_t returns = (hits.returning - event->hits.returning) * NS_PER_S / elapsed_ns;
	struct why why;

	update_cost(event);
	uint64_t cost_ppm = (rate * event->cost.entry_ns + returns * event->cost.return_ns) / 1000;
	event->hits = hits;
	event->cost_ppm = cost_ppm;
	event->looked_ns = now_ns;
	event->strikes =
		tracer->budget_ppm && cost_ppm > tracer->budget_ppm ? event->strikes + 1 : 0;
	loop_timer_set(tracer->loop, &event->timer, now_ns + LOOK_NS);
	if (event->strikes < STRIKES)
		return;
	why_set(&why,
		"too frequent: %llu hits a second, of all processes, take %.1f %% of a CPU by "
		"themselves, and max_overhead is %.0f %%",
		(unsigned long long)rate, (double)cost_ppm / 1e4, (double)tracer->budget_ppm / 1e4);
	event->run->fail(event->run, -EDQUOT, &why);
}

struct event_stats {
	uint64_t hits, hit_ns, cost_ppm;
};
KIND_STATS_FIT(struct event_stats);

static void count_event(const struct event_run *event, union kind_stats *stats)
{
	struct event_stats *mine = (struct event_stats *)stats;

	if (event->run && event->run->own)
		*mine = (struct event_stats){read_hits(event).all, event->cost.entry_ns,
					     event->cost_ppm};
}

static const char *slot_name(unsigned probe)
{
	return kind_exists(probe) ? kind_get(probe)->name : NULL;
}

static const struct measure_label of_slot = {"probe", slot_name, PROBE_SLOT_FIRST, PROBE_COUNT};

static const struct measure rows[] = {
	{"event_hits_total", "hits", COUNTER,
	 "Hits of an event that params.events names, of all processes, since it runs.",
	 MEASURE_AT(event_stats, hits)},
	{NULL, "hit_ns", GAUGE, "What a hit costs by itself at least, without a return, ns.",
	 MEASURE_AT(event_stats, hit_ns)},
	{"event_cost_ppm", "cost_ppm", GAUGE,
	 "What the hits of an event take by themselves at least, in the last second: millionths of "
	 "a CPU.",
	 MEASURE_AT(event_stats, cost_ppm)},
};

static const struct measures event_measures = {
	"Events that a user names", "status.probes.*", MEASURE_ROWS(rows),
	.scope = OF_EACH,	    .each = &of_slot,  .stride = sizeof(union kind_stats)};

/* ---- start and stop ---- */

static void unhook_event(struct event_run *event)
{
	loop_timer_cancel(event->run->tracer->loop, &event->timer);
	link_detach(&event->entry);
	link_detach(&event->back);
}

static int copy_program(int *to, const struct bpf_program *program)
{
	*to = fcntl(bpf_program__fd(program), F_DUPFD_CLOEXEC, 0);
	return *to < 0 ? -errno : 0;
}

/* Points of an earlier text are gone: from now on hits are of this one. */
static void open_event(void *arg)
{
	const struct event_run *event = arg;
	struct event_bpf *bpf = tracer_own_bpf(event->run->own);

	bpf->bss->event_off = 0;
}

/* Has the points in targets' files attached. */
static int attach_file(struct event_run *event, const struct event_bpf *bpf)
{
	struct call_programs programs = {.realloc_fd = -1,
					 .session = bpf_program__fd(bpf->progs.at_session) >= 0};
	bool timed = bpf->bss->event_timed;
	int r;

	for (int i = 0; i < CALL_COUNT_OF; i++)
		programs.fds[i] = programs.return_fds[i] = -1;
	r = copy_program(&programs.fds[CALL_SIZE],
			 programs.session ? bpf->progs.at_session : bpf->progs.at_point);
	if (r == 0 && timed && !programs.session)
		r = copy_program(&programs.return_fds[CALL_SIZE], bpf->progs.at_return);
	if (r < 0) {
		cleanup_close(&programs.fds[CALL_SIZE]);
		return r;
	}
	event->of_file = true;
	event_files_start(event->run->event_files, event->run->probe,
			  &(struct event_wish){&event->event, timed, programs, open_event, event});
	return 0;
}

static int attach_kernel(struct event_run *event, const struct event_bpf *bpf)
{
	const char *name = event->event.name;

	if (event->settings.time)
		event->back = bpf_program__attach_kprobe(bpf->progs.at_return, true, name);
	if (event->settings.time && !event->back)
		return -errno;
	event->entry = bpf_program__attach_kprobe(bpf->progs.at_point, false, name);
	return event->entry ? 0 : -errno;
}

static int attach_tracepoint(struct event_run *event, const struct event_bpf *bpf)
{
	event->entry =
		bpf_program__attach_raw_tracepoint(bpf->progs.at_tracepoint, event->event.name);
	return event->entry ? 0 : -errno;
}

static int attach_event(struct event_run *event, struct why *why)
{
	struct event_bpf *bpf = tracer_own_bpf(event->run->own);
	bool is_call = event->event.type == EVENT_KERNEL || event->event.type == EVENT_USER;
	char what[EVENT_WHAT_BYTES + 40];
	int r;

	if (is_call && event->settings.time && uretprobes_are_safe() == 0) {
		why_set(why, "event_time can't be 1: this kernel lets a filter of system calls "
			     "(seccomp) end programs whose returns are probed");
		return -EOPNOTSUPP;
	}
	bpf->bss->event_timed = event->settings.time && is_call;
	bpf->bss->event_of_user = event->event.type != EVENT_KERNEL;
	bpf->bss->event_min_ns =
		bpf->bss->event_timed ? (uint64_t)event->settings.min_us * 1000 : 0;
	if (event->event.arg && event->event.type == EVENT_USDT &&
	    bpf_program__fd(bpf->progs.at_session) < 0) {
		why_set(why,
			"arguments of static probes need a kernel with uprobe sessions (6.13)");
		return -EOPNOTSUPP;
	}
	bpf->bss->event_arg_of_point = event->event.arg && event->event.type == EVENT_USDT;
	bpf->bss->event_arg = bpf->bss->event_arg_of_point ? 0 : arg_place_of(&event->event);
	if (event->event.type == EVENT_TRACEPOINT)
		r = attach_tracepoint(event, bpf);
	else if (event->event.type == EVENT_KERNEL)
		r = attach_kernel(event, bpf);
	else
		r = attach_file(event, bpf);
	snprintf(what, sizeof(what), "%s can't be attached", event->settings.what);
	if (r == -ENOENT && event->event.type == EVENT_KERNEL)
		why_set(why, "%s: the kernel has no kprobes (CONFIG_KPROBES), or no such function",
			what);
	else if (r < 0)
		tracer_explain(why, r, what);
	return r;
}

/* Takes an event's hooks off; points in files go later. From now on nothing is counted. */
static void close_event(struct event_run *event)
{
	struct event_bpf *bpf = tracer_own_bpf(event->run->own);

	bpf->bss->event_off = 1;
	unhook_event(event);
}

/* Attaches the event. Earlier points in files may still be there: it opens when they are gone. */
static int begin_event(struct event_run *event, struct why *why)
{
	struct probe_run *run = event->run;
	bool had_files = event->of_file;
	int r = event_text_read(&event->event, event->settings.what, why);

	event->of_file = false;
	if (r == 0)
		r = attach_event(event, why);
	if (event->of_file)
		return r;
	event->of_file = had_files; /* until these are detached */
	if (had_files)
		event_files_stop(run->event_files, run->probe, r == 0 ? open_event : NULL, event);
	else if (r == 0)
		open_event(event);
	return r;
}

static int start_event(struct probe_run *run, struct why *why)
{
	struct event_run *event = &runs[run->probe - PROBE_SLOT_FIRST];
	int r = 0;

	kind_get(run->probe)->slot->is_on = true;
	if (!run->own)
		r = tracer_load_own(run->tracer, loadables[run->probe - PROBE_SLOT_FIRST],
				    &run->own, "the programs of events can't be loaded", why);
	if (r < 0)
		return r;
	event->run = run;
	close_event(event);
	event->settings = *(const struct event_settings *)run->settings;
	r = begin_event(event, why);
	if (r < 0)
		return r;
	update_cost(event);
	event->hits = read_hits(event);
	event->looked_ns = loop_now_ns();
	event->strikes = 0;
	event->cost_ppm = 0;
	event->timer =
		(struct loop_timer){.expired = look_at_hits, .arg = event, .name = "event_hits"};
	loop_timer_set(run->tracer->loop, &event->timer, event->looked_ns + LOOK_NS);
	return 0;
}

static void event_detached(void *arg)
{
	struct event_run *event = arg;

	event->of_file = false;
	tracer_unload(&event->run->own);
}

/* The programs stay until nothing is attached to them any more. */
static void stop_event(struct probe_run *run)
{
	struct event_run *event = &runs[run->probe - PROBE_SLOT_FIRST];
	struct kind_slot *slot = kind_get(run->probe)->slot;

	slot->is_on = false;
	slot->free_ns = loop_now_ns() + REST_NS;
	if (!event->run || !run->own)
		return;
	close_event(event);
	if (event->of_file)
		event_files_stop(run->event_files, run->probe, event_detached, event);
	else
		tracer_unload(&run->own);
}

static const char *event_state(const struct probe_run *run)
{
	return runs[run->probe - PROBE_SLOT_FIRST].of_file
		       ? event_files_why(run->event_files, run->probe)
		       : "";
}

/* ---- the rows ---- */

/* Names the value of an argument, or the values that one part stands for. */
static const struct part_row *name_value(unsigned number, struct part_named *room)
{
	char *text = room->text[0];

	if (number < EVENT_PART_NEGATIVES)
		snprintf(text, PART_NAME_BYTES, "[arg %u]", number - EVENT_PART_VALUES);
	else if (number < EVENT_PART_POWERS)
		snprintf(text, PART_NAME_BYTES, "[arg -%u]", number - EVENT_PART_NEGATIVES + 1);
	else if (number == EVENT_PART_BELOW)
		snprintf(text, PART_NAME_BYTES, "[arg below -%d]", EVENT_NEGATIVES);
	else
		snprintf(text, PART_NAME_BYTES, "[arg 2^%u to 2^%u-1]", number - EVENT_PART_POWERS,
			 number - EVENT_PART_POWERS + 1);
	room->row = (struct part_row){{text}};
	return &room->row;
}

static const struct pprof_shape timed = {
	.values = {{"calls", "count", PPROF_EVENTS},
		   {"event_time", "nanoseconds", PPROF_WEIGHT, 1000}},
	.period_type = "",
	.period_unit = "",
};

#define EVENT_KIND(number, name_)                                                                  \
	static void count_##name_(const struct tracer *tracer, const struct counters *counters,    \
				  union kind_stats *stats)                                         \
	{                                                                                          \
		(void)tracer;                                                                      \
		(void)counters;                                                                    \
		count_event(&runs[PROBE_##number - PROBE_SLOT_FIRST], stats);                      \
	}                                                                                          \
	static struct kind_slot slot_##name_;                                                      \
	static const struct view_row views_##name_[VIEWS] = {                                      \
		[VIEW_ALL] = {.name = "count"},                                                    \
		[VIEW_SECOND] = {.name = "time",                                                   \
				 .folder = slot_##name_.folder,                                    \
				 .title = slot_##name_.second_title,                               \
				 .count_name = "us",                                               \
				 .event_name = "calls",                                            \
				 .event_title = slot_##name_.title,                                \
				 .pprof = &timed},                                                 \
	};                                                                                         \
	const struct kind probe_##name_ = {                                                        \
		.name = slot_##name_.name,                                                         \
		.title = slot_##name_.title,                                                       \
		.count_name = "events",                                                            \
		.at_tracepoint = true,                                                             \
		.name_part = name_value,                                                           \
		.second_unit = 1000, /* ns */                                                      \
		.pprof = {.values = {{"events", "count", PPROF_WEIGHT}},                           \
			  .period_type = "",                                                       \
			  .period_unit = ""},                                                      \
		.upload = {slot_##name_.series, slot_##name_.app, ".alloc_objects", "objects",     \
			   100},                                                                   \
		.deepflow = 4,                                                                     \
		.views = views_##name_,                                                            \
		.needs = {NEEDS_PROGRAMS, NEEDS_DATA, NEEDS_KERNEL_NAMES, NEEDS_FILE_NAMES},       \
		.slot = &slot_##name_,                                                             \
		.loads = name_##_loads,                                                            \
		.start = start_event,                                                              \
		.stop = stop_event,                                                                \
		.state = event_state,                                                              \
		.measures = &event_measures,                                                       \
		.count = count_##name_,                                                            \
	};

PROBE_SLOTS(EVENT_KIND)
