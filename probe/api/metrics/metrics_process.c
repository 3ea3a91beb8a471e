// SPDX-License-Identifier: GPL-2.0-or-later
/* Numbers by process: stacks that were cut; CPU times, switches and waits of the processes that
 * off-CPU or /sched looks at, and of those among them that ended not long ago. */
#include <string.h>

#include "api/metrics/metrics_lines.h"
#include "api/metrics/process_choice.h"
#include "kind/loss_names.h"

/* A metric whose lines are being written. */
struct metrics_series {
	struct buf *out;
	const struct measure *row;
	const struct process_choice *processes;
};

/* Writes a line up to the labels that all have. */
static void put_labels(const struct metrics_series *series, pid_t pid, const char comm[COMM_BYTES],
		       const struct container *container)
{
	buf_printf(series->out, "stackprobe_%s{pid=\"%d\",comm=\"", series->row->name, (int)pid);
	metrics_label(series->out, comm, strnlen(comm, COMM_BYTES));
	buf_char(series->out, '"');
	metrics_container(series->out, container);
}

static void put_truncated(void *arg, const struct target *target)
{
	const struct metrics_series *series = arg;

	if (!process_is_chosen(series->processes, CHOSEN_BY_TRUNCATED, target->pid))
		return;
	for (int i = TRUNCATED_NOT + 1; i < TRUNCATED_COUNT; i++) {
		if (!target->truncated[i] || !target->match.probes)
			continue;
		put_labels(series, target->pid, target->comm, target->container);
		buf_printf(series->out, ",cause=\"%s\"} %llu\n", truncation_name(i),
			   (unsigned long long)target->truncated[i]);
	}
}

static void write_truncated(struct buf *out, const struct measure *row, const void *stats)
{
	const struct figures *figures = stats;
	struct metrics_series series = {out, row, figures->processes};

	engine_targets(figures->services->engine, put_truncated, &series);
}

/* ---- times: the rows' numbers lie in struct process_times ---- */

static const char *state_name(unsigned kind)
{
	static const char *const names[WAIT_KINDS] = {
		[WAIT_RUNNABLE] = "runnable",
		[WAIT_SLEEP] = "sleep",
		[WAIT_DISK] = "disk",
		[WAIT_OTHER] = "other",
	};

	return names[kind];
}

static const char *type_name(unsigned kind)
{
	static const char *const names[SWITCH_KINDS] = {
		[SWITCH_VOLUNTARY] = "voluntary",
		[SWITCH_INVOLUNTARY] = "involuntary",
	};

	return names[kind];
}

static const struct measure_label wait_state = {"state", state_name, 0, WAIT_KINDS};
static const struct measure_label switch_type = {"type", type_name, 0, SWITCH_KINDS};

/* Returns whether a number is counted for that process. */
static bool is_counted(const struct measure *row, const struct process_times *process,
		       unsigned kind)
{
	if (row->label == &wait_state)
		return process->states & 1u << kind;
	if (row->at == offsetof(struct process_times, times.delay_ns))
		return process->has_delays;
	return row->at != offsetof(struct process_times, times.wakeups) || process->has_wakeups;
}

static void put_times(void *arg, const struct process_times *process)
{
	const struct metrics_series *series = arg;
	const struct measure *row = series->row;
	unsigned kinds = row->label ? row->label->end : 1;

	if (!process_is_chosen(series->processes, CHOSEN_BY_TIME, process->pid))
		return;
	for (unsigned i = 0; i < kinds; i++) {
		uint64_t number = measure_number(row, process, i);

		if (!is_counted(row, process, i))
			continue;
		put_labels(series, process->pid, process->comm, process->container);
		if (row->label)
			buf_printf(series->out, ",%s=\"%s\"", row->label->name,
				   row->label->value_name(i));
		if (strstr(row->name, "_seconds_"))
			buf_printf(series->out, "} %llu.%09llu\n",
				   (unsigned long long)(number / NS_PER_S),
				   (unsigned long long)(number % NS_PER_S));
		else
			buf_printf(series->out, "} %llu\n", (unsigned long long)number);
	}
}

static void write_times(struct buf *out, const struct measure *row, const void *stats)
{
	const struct figures *figures = stats;
	struct metrics_series series = {out, row, figures->processes};

	engine_times(figures->services->engine, put_times, &series);
}

#define PROCESS "pid, comm, container, pod, namespace"
#define TIMES(member)                                                                              \
	MEASURE_AT(process_times, times.member), .lines = write_times, .labels = PROCESS
#define TIMES_EACH(member, label)                                                                  \
	MEASURE_EACH(process_times, times.member, label), .lines = write_times, .labels = PROCESS

static uint64_t left_out(const void *stats)
{
	const struct figures *figures = stats;

	return figures->processes ? figures->processes->by[CHOSEN_BY_TIME].left_out : 0;
}

static const struct measure rows[] = {
	{"process_cpu_seconds_total", NULL, COUNTER, "CPU time of a process, since it began.",
	 TIMES(run_ns)},
	{"process_runq_wait_seconds_total", NULL, COUNTER,
	 "Time that a process's threads were runnable and had no CPU, since they began.",
	 TIMES(delay_ns)},
	{"process_offcpu_seconds_total", NULL, COUNTER,
	 "Time that a process's threads were off their CPUs, by the state they left in, since the "
	 "process was chosen.",
	 TIMES_EACH(waited_ns, &wait_state)},
	{"process_context_switches_total", NULL, COUNTER,
	 "Switches away from a process's threads, since the process began, as getrusage() has "
	 "them.",
	 TIMES_EACH(switches, &switch_type)},
	{"process_wakeups_total", NULL, COUNTER,
	 "Wake-ups of a process's threads, since the process was chosen.", TIMES(wakeups)},
	{"process_times_refused_total", NULL, COUNTER,
	 "Readings of processes' counters that found no room.",
	 MEASURE_AT(figures, engine.times.refused)},
	{"process_times_dropped_total", NULL, COUNTER,
	 "Processes that had ended, whose counters were dropped early to make room.",
	 MEASURE_AT(figures, engine.times.dropped)},
	{"process_series_left_out", NULL, GAUGE,
	 "Processes with CPU times that /metrics has no series of (process_metrics in the conf "
	 "file).",
	 .count = left_out},
	{"process_stack_truncated_total", NULL, COUNTER,
	 "Weight of stacks that do not reach their root, by process and cause.",
	 .lines = write_truncated, .labels = PROCESS, .label = &truncation_label},
};

const struct measures process_measures = {"Of single processes", "", MEASURE_ROWS(rows),
					  .scope = OF_PROCESS};
