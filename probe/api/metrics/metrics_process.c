// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes CPU times, switches and waits by process: of the processes that off-CPU or /sched looks
 * at, and of those among them that ended not long ago. */
#include <string.h>

#include "api/metrics/metrics_lines.h"

struct family;

struct metrics_writing {
	struct buf *out;
	const struct family *family;
};

struct family {
	const char *name, *help;
	void (*write)(const struct metrics_writing *writing, const struct process_times *process);
};

/* Writes a line up to its value; `more`: further labels. */
static void put_series(const struct metrics_writing *writing, const struct process_times *process,
		       const char *more)
{
	struct buf *out = writing->out;

	buf_printf(out, "stackprobe_%s{pid=\"%d\",comm=\"", writing->family->name,
		   (int)process->pid);
	metrics_label(out, process->comm, strnlen(process->comm, sizeof(process->comm)));
	buf_char(out, '"');
	metrics_container(out, process->container);
	buf_printf(out, "%s} ", more);
}

static void put_seconds(struct buf *out, uint64_t ns)
{
	buf_printf(out, "%llu.%09llu\n", (unsigned long long)(ns / NS_PER_S),
		   (unsigned long long)(ns % NS_PER_S));
}

static void write_cpu(const struct metrics_writing *writing, const struct process_times *process)
{
	put_series(writing, process, "");
	put_seconds(writing->out, process->times.run_ns);
}

static void write_delay(const struct metrics_writing *writing, const struct process_times *process)
{
	if (!process->has_delays)
		return;
	put_series(writing, process, "");
	put_seconds(writing->out, process->times.delay_ns);
}

static void write_waits(const struct metrics_writing *writing, const struct process_times *process)
{
	static const char *const states[WAIT_KINDS] = {
		[WAIT_RUNNABLE] = ",state=\"runnable\"",
		[WAIT_SLEEP] = ",state=\"sleep\"",
		[WAIT_DISK] = ",state=\"disk\"",
		[WAIT_OTHER] = ",state=\"other\"",
	};

	for (int i = 0; i < WAIT_KINDS; i++) {
		if (!(process->states & 1u << i))
			continue;
		put_series(writing, process, states[i]);
		put_seconds(writing->out, process->times.waited_ns[i]);
	}
}

static void write_switches(const struct metrics_writing *writing,
			   const struct process_times *process)
{
	static const char *const kinds[SWITCH_KINDS] = {
		[SWITCH_VOLUNTARY] = ",type=\"voluntary\"",
		[SWITCH_INVOLUNTARY] = ",type=\"involuntary\"",
	};

	for (int i = 0; i < SWITCH_KINDS; i++) {
		put_series(writing, process, kinds[i]);
		buf_printf(writing->out, "%llu\n", (unsigned long long)process->times.switches[i]);
	}
}

static void write_wakeups(const struct metrics_writing *writing,
			  const struct process_times *process)
{
	if (!process->has_wakeups)
		return;
	put_series(writing, process, "");
	buf_printf(writing->out, "%llu\n", (unsigned long long)process->times.wakeups);
}

static const struct family families[] = {
	{"process_cpu_seconds_total", "CPU time of a process, since it began.", write_cpu},
	{"process_runq_wait_seconds_total",
	 "Time that its threads were runnable and had no CPU, since they began.", write_delay},
	{"process_offcpu_seconds_total",
	 "Time that its threads were off their CPUs, by the state they left in, since the process "
	 "was chosen.",
	 write_waits},
	{"process_context_switches_total",
	 "Switches away from its threads, since the process began, as getrusage() has them.",
	 write_switches},
	{"process_wakeups_total", "Wake-ups of its threads, since the process was chosen.",
	 write_wakeups},
};

static void write_one(void *arg, const struct process_times *process)
{
	const struct metrics_writing *writing = arg;

	writing->family->write(writing, process);
}

void metrics_process(struct buf *out, const struct services *services,
		     const struct engine_stats *stats)
{
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		struct metrics_writing writing = {out, &families[i]};

		metrics_head(out, families[i].name, "counter", families[i].help);
		engine_times(services->engine, write_one, &writing);
	}
	metrics_one(out, "process_times_refused_total", "counter",
		    "Readings of processes' counters that found no room.",
		    (double)stats->times.refused);
	metrics_one(out, "process_times_dropped_total", "counter",
		    "Processes that had ended, whose counters were dropped early to make room.",
		    (double)stats->times.dropped);
}
