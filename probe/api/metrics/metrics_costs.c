// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums of what processes cost, by container and of the whole host, while /proc runs. */
#include "api/metrics/metrics_lines.h"

#include <string.h>

#include "base/clock.h"

static const char *switch_name(unsigned value)
{
	return value ? "involuntary" : "voluntary";
}

static const char *fault_name(unsigned value)
{
	return value ? "major" : "minor";
}

static const char *way_name(unsigned value)
{
	return value ? "write" : "read";
}

static const char *const vectors[SOFTIRQS] = {
#define VECTOR(number, name) [number] = (name),
	SOFTIRQ_LIST(VECTOR)
#undef VECTOR
};

static const char *vector_name(unsigned value)
{
	return vectors[value];
}

static const char *cache_name(unsigned value)
{
	static const char *const names[CACHE_COUNTS] = {"hit", "added", "dirtied"};

	return names[value];
}

static const char *const counters[PMU_COUNTS] = {
#define COUNTER_NAME(number, name) [number] = (name),
	PMU_LIST(COUNTER_NAME)
#undef COUNTER_NAME
};

static const char *counter_name(unsigned value)
{
	return counters[value];
}

/* The values of a label lie behind each other in enum cost. */
static const struct measure_label switch_type = {"type", switch_name, 0, 2};
static const struct measure_label fault_kind = {"kind", fault_name, 0, 2};
static const struct measure_label vector = {"vector", vector_name, 0, SOFTIRQS};
static const struct measure_label cache_event = {"event", cache_name, 0, CACHE_COUNTS};
static const struct measure_label cpu_event = {"event", counter_name, 0, PMU_COUNTS};
static const struct measure_label way = {"direction", way_name, 0, 2};

/* Numbers and times of vectors are in turn. */
static enum cost cost_of(const struct measure *row, unsigned value)
{
	return (enum cost)row->at + (row->label == &vector ? 2 * value : value);
}

static void put_number(struct buf *out, const struct measure *row, uint64_t number)
{
	if (strstr(row->name, "_seconds_"))
		buf_printf(out, "%llu.%09llu", (unsigned long long)(number / NS_PER_S),
			   (unsigned long long)(number % NS_PER_S));
	else
		buf_printf(out, "%llu", (unsigned long long)number);
}

/* Adds the process with the most of a value, of those that have series, as OpenMetrics' exemplar.
 */
static void put_exemplar(struct buf *out, const struct measure *row, enum cost cost,
			 const struct cost_series *series)
{
	const struct series_entry *most = NULL;

	for (size_t i = 0; cost < COSTS && i < series->count; i++) {
		if (!most || series->all[i].row.costs.of[cost] > most->row.costs.of[cost])
			most = &series->all[i];
	}
	if (!most || !most->row.costs.of[cost])
		return;
	buf_printf(out, " # {pid=\"%d\",comm=\"", (int)most->row.pid);
	metrics_label(out, most->row.comm, strnlen(most->row.comm, COMM_BYTES));
	buf_str(out, "\"} ");
	put_number(out, row, most->row.costs.of[cost]);
}

/* Writes the lines of a row; `labels` (",a=\"b\"") are those of whom it is. `series`: those with
 * the exemplars; NULL: none are wanted. */
static void put_lines(struct buf *out, const struct measure *row, uint64_t known,
		      const struct buf *labels, const struct cost_row *costs,
		      const struct cost_series *series)
{
	unsigned end = row->label ? row->label->end : 1;

	for (unsigned i = 0; i < end; i++) {
		_cleanup_buf_ struct buf all = BUF_INIT(8192);

		if (!(known & 1ULL << cost_of(row, i)))
			continue;
		buf_add(&all, labels->data, labels->len);
		if (row->label)
			buf_printf(&all, ",%s=\"%s\"", row->label->name, row->label->value_name(i));
		buf_char(&all, '\0');
		buf_printf(out, "stackprobe_%s", row->name);
		if (!buf_error(&all) && *all.data)
			buf_printf(out, "{%s}", all.data + 1);
		buf_char(out, ' ');
		put_number(out, row, cost_row_value(costs, cost_of(row, i)));
		if (series)
			put_exemplar(out, row, cost_of(row, i), series);
		buf_char(out, '\n');
	}
}

static void write_sums(struct buf *out, const struct measure *row, const void *stats)
{
	const struct figures *figures = stats;
	const struct last_costs *last = figures->costs;
	const struct buf none = {0};
	bool of_containers = strncmp(row->name, "container_", strlen("container_")) == 0;

	if (!last || !last->table)
		return;
	if (!of_containers)
		put_lines(out, row, last->known, &none, &last->sum,
			  figures->exemplars ? last->series : NULL);
	for (size_t i = 0; of_containers && i < last->rows.count; i++) {
		const struct cost_row *costs = &last->rows.all[i];
		const struct container *container = cost_row_container(last->table, costs);
		_cleanup_buf_ struct buf labels = BUF_INIT(4096);

		metrics_container(&labels, container);
		if (container)
			put_lines(out, row, last->known, &labels, costs, NULL);
	}
}

/* Writes a row of the processes that are chosen, and of all others together. */
static void write_series(struct buf *out, const struct measure *row, const void *stats)
{
	const struct figures *figures = stats;
	const struct last_costs *last = figures->costs;
	_cleanup_buf_ struct buf others = BUF_INIT(64);
	struct cost_row costs = {0};

	if (!last || !last->series || !last->series->all)
		return;
	for (size_t i = 0; i < last->series->count; i++) {
		const struct series_entry *entry = &last->series->all[i];
		_cleanup_buf_ struct buf labels = BUF_INIT(4096);

		buf_printf(&labels, ",pid=\"%d\",comm=\"", (int)entry->row.pid);
		metrics_label(&labels, entry->row.comm, strnlen(entry->row.comm, COMM_BYTES));
		buf_char(&labels, '"');
		metrics_container(&labels, cost_row_container(last->table, &entry->row));
		cost_series_value(entry, &costs.costs);
		put_lines(out, row, last->known, &labels, &costs, NULL);
	}
	buf_str(&others, ",pid=\"others\"");
	costs.costs = last->series->others;
	put_lines(out, row, last->known, &others, &costs, NULL);
}

/* Writes the host's energy by zone, since /proc was started. */
static void write_energy(struct buf *out, const struct measure *row, const void *stats)
{
	const struct figures *figures = stats;
	const struct energy_counts *energy = figures->costs ? &figures->costs->rows.energy : NULL;

	for (unsigned i = 0; energy && energy->time_ns && i < energy->count; i++)
		buf_printf(out, "stackprobe_%s{zone=\"%s\"} %llu.%06llu\n", row->name,
			   energy->zones[i].name,
			   (unsigned long long)(energy->zones[i].uj / 1000000),
			   (unsigned long long)(energy->zones[i].uj % 1000000));
}

#define SUM(cost)    .at = (cost), .lines = write_sums /* the first, where a label has more */
#define SERIES(cost) .at = (cost), .lines = write_series, .labels = "pid, comm, " CONTAINER
#define CONTAINER    "container, pod, namespace"

static const struct measure of_processes[] = {
	{"process_cost_cpu_seconds_total", NULL, COUNTER,
	 "CPU time of the processes that have used most since /proc was started (process_metrics "
	 "in "
	 "the conf file), each since it was chosen; pid=\"others\": of all others.",
	 SERIES(COST_RUN)},
	{"process_cost_runq_wait_seconds_total", NULL, COUNTER,
	 "Time that the threads of these processes were runnable and had no CPU.",
	 SERIES(COST_DELAY)},
	{"process_cost_context_switches_total", NULL, COUNTER,
	 "Switches away from the threads of these processes.", SERIES(COST_VOLUNTARY),
	 .label = &switch_type},
	{"process_cost_page_faults_total", NULL, COUNTER, "Page faults of these processes.",
	 SERIES(COST_MINOR), .label = &fault_kind},
	{"process_cost_io_bytes_total", NULL, COUNTER,
	 "Bytes that calls of read and write, and their kin, of these processes moved.",
	 SERIES(COST_READ_CHARS), .label = &way},
	{"process_cost_disk_bytes_total", NULL, COUNTER,
	 "Bytes read from disks for these processes, and bytes that will be written there.",
	 SERIES(COST_READ_BYTES), .label = &way},
};

static const struct measure of_containers[] = {
	{"container_cpu_seconds_total", NULL, COUNTER,
	 "CPU time of a container's processes, those that have ended included, since /proc was "
	 "started (doc/proc.md). As of the last reading.",
	 SUM(COST_RUN), .labels = CONTAINER},
	{"container_runq_wait_seconds_total", NULL, COUNTER,
	 "Time that the threads of a container's processes were runnable and had no CPU.",
	 SUM(COST_DELAY), .labels = CONTAINER},
	{"container_context_switches_total", NULL, COUNTER,
	 "Switches away from the threads of a container's processes.", SUM(COST_VOLUNTARY),
	 .label = &switch_type, .labels = CONTAINER},
	{"container_cpu_migrations_total", NULL, COUNTER,
	 "Moves of threads of a container's processes to another CPU.", SUM(COST_MIGRATIONS),
	 .labels = CONTAINER},
	{"container_page_faults_total", NULL, COUNTER, "Page faults of a container's processes.",
	 SUM(COST_MINOR), .label = &fault_kind, .labels = CONTAINER},
	{"container_io_calls_total", NULL, COUNTER,
	 "Calls of read and write, and their kin, by a container's processes.",
	 SUM(COST_READ_CALLS), .label = &way, .labels = CONTAINER},
	{"container_io_bytes_total", NULL, COUNTER,
	 "Bytes that calls of read and write, and their kin, moved.", SUM(COST_READ_CHARS),
	 .label = &way, .labels = CONTAINER},
	{"container_disk_bytes_total", NULL, COUNTER,
	 "Bytes read from disks for a container's processes, and bytes that will be written there.",
	 SUM(COST_READ_BYTES), .label = &way, .labels = CONTAINER},
	{"container_page_cache_pages_total", NULL, COUNTER,
	 "Pages of files that a container's processes found in the page cache, added to it, made "
	 "dirty in it (proc_pagecache).",
	 SUM(COST_CACHE_HIT), .label = &cache_event, .labels = CONTAINER},
	{"container_softirq_seconds_total", NULL, COUNTER,
	 "Time of softirqs that interrupted a container's processes (proc_softirq).",
	 SUM(COST_SOFTIRQ_HI_NS), .label = &vector, .labels = CONTAINER},
	{"container_cpu_events_total", NULL, COUNTER,
	 "What the CPUs' counters counted while a container's processes ran, where the machine has "
	 "such counters (proc_cpu).",
	 SUM(COST_PMU_CYCLES), .label = &cpu_event, .labels = CONTAINER},
	{"container_cpu_counted_seconds_total", NULL, COUNTER,
	 "Time on CPUs in which stackprobe_container_cpu_events_total was counted; its cycles by "
	 "this time are the average frequency.",
	 SUM(COST_PMU_NS), .labels = CONTAINER},
};

static const struct measure of_node[] = {
	{"node_process_cpu_seconds_total", NULL, COUNTER,
	 "CPU time of the processes that /proc looks at, those that have ended included, since it "
	 "was started. As of the last reading.",
	 SUM(COST_RUN)},
	{"node_runq_wait_seconds_total", NULL, COUNTER,
	 "Time that the threads of the processes that /proc looks at were runnable and had no CPU.",
	 SUM(COST_DELAY)},
	{"node_context_switches_total", NULL, COUNTER,
	 "Switches away from the threads of the processes that /proc looks at.",
	 SUM(COST_VOLUNTARY), .label = &switch_type},
	{"node_cpu_migrations_total", NULL, COUNTER,
	 "Moves of threads of the processes that /proc looks at to another CPU.",
	 SUM(COST_MIGRATIONS)},
	{"node_page_faults_total", NULL, COUNTER,
	 "Page faults of the processes that /proc looks at.", SUM(COST_MINOR),
	 .label = &fault_kind},
	{"node_io_calls_total", NULL, COUNTER,
	 "Calls of read and write, and their kin, by the processes that /proc looks at.",
	 SUM(COST_READ_CALLS), .label = &way},
	{"node_io_bytes_total", NULL, COUNTER,
	 "Bytes that calls of read and write, and their kin, moved.", SUM(COST_READ_CHARS),
	 .label = &way},
	{"node_disk_bytes_total", NULL, COUNTER,
	 "Bytes read from disks for the processes that /proc looks at, and bytes that will be "
	 "written there.",
	 SUM(COST_READ_BYTES), .label = &way},
	{"node_page_cache_pages_total", NULL, COUNTER,
	 "Pages of files that the processes that /proc looks at found in the page cache, added to "
	 "it, made dirty in it (proc_pagecache).",
	 SUM(COST_CACHE_HIT), .label = &cache_event},
	{"node_softirqs_total", NULL, COUNTER,
	 "Softirqs that interrupted the processes that /proc looks at (proc_softirq).",
	 SUM(COST_SOFTIRQ_HI), .label = &vector},
	{"node_softirq_seconds_total", NULL, COUNTER,
	 "Time of softirqs that interrupted the processes that /proc looks at (proc_softirq).",
	 SUM(COST_SOFTIRQ_HI_NS), .label = &vector},
	{"node_wakeups_total", NULL, COUNTER,
	 "Wake-ups of the threads of the processes that /proc looks at (proc_wakeup).",
	 SUM(COST_WAKE_WOKEN)},
	{"node_cpu_events_total", NULL, COUNTER,
	 "What the CPUs' counters counted while the processes that /proc looks at ran, where the "
	 "machine has such counters (proc_cpu).",
	 SUM(COST_PMU_CYCLES), .label = &cpu_event},
	{"node_cpu_counted_seconds_total", NULL, COUNTER,
	 "Time on CPUs in which stackprobe_node_cpu_events_total was counted; its cycles by this "
	 "time are the average frequency.",
	 SUM(COST_PMU_NS)},
	{"node_energy_joules_total", NULL, COUNTER,
	 "Energy of the host's processors and memory by zone of RAPL, since /proc was started; "
	 "read at "
	 "most every 10 s.",
	 .lines = write_energy, .labels = "zone"},
};

const struct measures process_cost_measures = {"What processes cost", "",
					       MEASURE_ROWS(of_processes), .scope = OF_PROCESS};
const struct measures container_cost_measures = {"What processes cost", "",
						 MEASURE_ROWS(of_containers), .scope = OF_PROCESS};
const struct measures node_cost_measures = {"What processes cost", "", MEASURE_ROWS(of_node),
					    .scope = OF_PROCESS};
