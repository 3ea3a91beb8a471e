// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/resource/proc_output.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "api/status/container_texts.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"

#define BIT(cost) (1ULL << (cost))

/* Rows in the order in which they are shown, and the rest as one. */
struct shown_rows {
	struct cost_row *all; /* owned */
	size_t count;
	struct cost_row others, sum;
	struct cost_more others_more, sum_more; /* their room */
	bool has_others;
};

static int compare_by(const void *a, const void *b, void *arg)
{
	const struct cost_row *left = a, *right = b;
	enum cost by = *(const enum cost *)arg;

	if (cost_row_value(left, by) != cost_row_value(right, by))
		return cost_row_value(left, by) > cost_row_value(right, by) ? -1 : 1;
	return left->pid < right->pid ? -1 : left->pid > right->pid;
}

static bool is_used(const struct cost_row *row, uint64_t values)
{
	for (int i = 0; i < COST_VALUES; i++) {
		if (values & BIT(i) && cost_row_value(row, (enum cost)i))
			return true;
	}
	return false;
}

/* Returns the values of the probe that are counted. */
static uint64_t values_of(const struct cost_answer *answer, const struct proc_choice *choice)
{
	return cost_kind_get(choice->probe)->values & answer->known;
}

/* Sorts the rows that have any of the values. Without memory there are none. */
static void choose_rows(struct shown_rows *shown, const struct cost_answer *answer,
			const struct proc_choice *choice)
{
	const struct cost_rows *rows = answer->rows;
	enum cost by = choice->by;

	*shown = (struct shown_rows){.all = calloc(rows->count + 1, sizeof(*shown->all))};
	shown->others.more = &shown->others_more;
	shown->sum.more = &shown->sum_more;
	if (!shown->all)
		return;
	for (size_t i = 0; i < rows->count; i++) {
		if (is_used(&rows->all[i], values_of(answer, choice)))
			shown->all[shown->count++] = rows->all[i];
		cost_row_add(&shown->sum, &rows->all[i]);
	}
	qsort_r(shown->all, shown->count, sizeof(*shown->all), compare_by, &by);
	for (size_t i = choice->top; i < shown->count; i++)
		cost_row_add(&shown->others, &shown->all[i]);
	shown->has_others = shown->count > choice->top;
	if (shown->has_others)
		shown->count = choice->top;
}

/* ---- JSON ---- */

static void put_comm(struct json *json, const struct cost_row *row)
{
	json_string(json, "comm", row->comm, strnlen(row->comm, COMM_BYTES));
	if (row->is_kernel)
		json_raw(json, "kernel", "true");
}

static void put_process(struct json *json, const struct cost_row *row)
{
	if (!row->pid) {
		json_raw(json, "pid", "null"); /* they ended long ago */
		json_u64(json, "processes", row->processes);
	} else {
		json_u64(json, "pid", (uint64_t)row->pid);
		put_comm(json, row);
	}
	if (row->has_ended)
		json_raw(json, "ended", "true");
}

/* Says whose a row is. */
static void put_owner(struct json *json, const struct cost_answer *answer,
		      const struct cost_row *row)
{
	const struct container *container = cost_row_container(answer->table, row);

	if (answer->by == COST_BY_PID)
		put_process(json, row);
	else
		json_u64(json, "processes", row->processes);
	if (answer->by == COST_BY_COMM)
		put_comm(json, row);
	if (answer->by == COST_BY_CGROUP) {
		json_name(json, "cgroup", cost_row_path(answer->table, row));
		json_u64(json, "id", row->group.v2);
	}
	if (answer->by != COST_BY_NONE && answer->by != COST_BY_COMM)
		container_json(json, container, 0, 0);
}

static void put_values(struct json *json, const struct cost_row *row, uint64_t values)
{
	for (int i = 0; i < COST_VALUES; i++) {
		if (values & BIT(i))
			json_u64(json, cost_name(i), cost_row_value(row, (enum cost)i));
	}
}

/* Returns the energy of a CPU's time on average, uJ a ns; 0: it isn't known. */
static double energy_of_time(const struct cost_answer *answer)
{
	const struct energy_counts *energy = &answer->rows->energy;
	double wall_ns = (double)energy->time_ns * (double)answer->rows->host.cpus;

	return wall_ns > 0 ? (double)energy_of_packages(energy) / wall_ns : 0;
}

/* Adds the row's part of the packages' energy, which goes by its time on CPUs (doc/proc.md). */
static void put_estimate(struct json *json, const struct cost_answer *answer,
			 const struct proc_choice *choice, const struct cost_row *row)
{
	double uj_a_ns = energy_of_time(answer);

	if (uj_a_ns > 0 && cost_kind_get(choice->probe)->values & BIT(COST_RUN))
		json_u64(json, "energy_estimate_uj",
			 (uint64_t)(uj_a_ns * (double)row->costs.of[COST_RUN]));
}

static void put_row(struct json *json, const struct cost_answer *answer,
		    const struct proc_choice *choice, const struct cost_row *row)
{
	json_object(json, NULL);
	put_owner(json, answer, row);
	put_values(json, row, values_of(answer, choice));
	put_estimate(json, answer, choice, row);
	json_object_end(json);
}

static void put_vectors(struct json *json, const struct softirq_counts *counts)
{
	for (int i = 0; i < SOFTIRQS; i++) {
		json_u64(json, cost_name(COST_SOFTIRQ_HI + 2 * i), counts->count[i]);
		json_u64(json, cost_name(COST_SOFTIRQ_HI_NS + 2 * i), counts->ns[i]);
	}
}

/* Says what softirqs there were while no process ran, and those of each CPU, of processes or not.
 */
static void put_softirqs(struct json *json, const struct cost_answer *answer)
{
	struct cost_more counted = answer->rows->idle;
	const struct cost_row idle = {.more = &counted};

	json_object(json, "idle");
	put_values(json, &idle, cost_kind_get(PROC_SOFTIRQ)->values);
	json_object_end(json);
	json_array(json, "cpus");
	for (size_t i = 0; i < answer->rows->cpus_count; i++) {
		json_object(json, NULL);
		json_u64(json, "cpu", i);
		put_vectors(json, &answer->rows->cpus[i]);
		json_object_end(json);
	}
	json_array_end(json);
}

static void put_sum(struct json *json, const char *key, const struct cost_answer *answer,
		    const struct proc_choice *choice, const struct cost_row *sum)
{
	json_object(json, key);
	json_u64(json, "processes", sum->processes);
	put_values(json, sum, values_of(answer, choice));
	json_object_end(json);
}

/* Returns since when the probe's values count, ns since 1970. */
static uint64_t from_of(const struct cost_answer *answer, const struct proc_choice *choice)
{
	uint64_t from_ns = answer->from_ns, counted_ns = 0;

	if (choice->probe == PROC_SOFTIRQ)
		counted_ns = answer->counted_from_ns[COUNTER_SOFTIRQ];
	else if (choice->probe == PROC_PAGECACHE)
		counted_ns = answer->counted_from_ns[COUNTER_CACHE];
	return counted_ns > from_ns ? counted_ns : from_ns;
}

static void put_head(struct json *json, const struct cost_answer *answer,
		     const struct proc_choice *choice)
{
	const char *absent = cost_kind_absent(choice->probe, answer->known);

	json_text(json, "probe", cost_kind_get(choice->probe)->name);
	json_seconds(json, "from", from_of(answer, choice));
	json_seconds(json, "until", answer->rows->time_ns);
	json_text(json, "group_by", cost_groups[answer->by]);
	json_text(json, "by", cost_name(choice->by));
	if (absent)
		json_text(json, "absent", absent);
	json_number_object(json, "lost", {"threads", answer->lost.threads},
			   {"processes", answer->lost.processes},
			   {"softirqs", answer->counts_lost[COUNTER_SOFTIRQ]},
			   {"pages", answer->counts_lost[COUNTER_CACHE]});
}

/* Returns the share of the CPUs' time in which something ran. */
static double busy_share(const struct cost_answer *answer)
{
	const struct host_times *host = &answer->rows->host;
	double wall_ns = (double)((answer->rows->time_ns - answer->from_ns) * host->cpus);
	double idle_ns = (double)(host->idle_ns + host->iowait_ns);

	return wall_ns > idle_ns ? 1 - idle_ns / wall_ns : 0;
}

/* Says what energy the host has used, and what part of the packages' goes by the time in which
 * something ran. */
static void put_energy(struct json *json, const struct cost_answer *answer)
{
	const struct energy_counts *energy = &answer->rows->energy;
	double packages_uj = (double)energy_of_packages(energy);
	double active_uj = packages_uj * busy_share(answer);

	json_object(json, "energy");
	if (!energy->count)
		json_text(json, "absent", "the host has no RAPL (" ENERGY_ROOT "/intel-rapl:*)");
	else if (!energy->time_ns)
		json_text(json, "absent", "it is read every 10 s: ask for more seconds");
	if (energy->time_ns) {
		json_u64(json, "span_ns", energy->time_ns);
		json_object(json, "uj");
		for (unsigned i = 0; i < energy->count; i++)
			json_u64(json, energy->zones[i].name, energy->zones[i].uj);
		json_object_end(json);
		json_numbers(json, {"active_estimate_uj", (uint64_t)active_uj},
			     {"idle_estimate_uj", (uint64_t)(packages_uj - active_uj)});
	}
	json_object_end(json);
}

/* Says what the CPUs did when no process ran. */
static void put_host(struct json *json, const struct cost_answer *answer)
{
	const struct host_times *host = &answer->rows->host;
	uint64_t span_ns = answer->rows->time_ns - answer->from_ns;

	json_object(json, "host");
	json_numbers(json, {"cpus", host->cpus}, {"wall_ns", span_ns * host->cpus},
		     {"idle_ns", host->idle_ns}, {"iowait_ns", host->iowait_ns});
	if (answer->without_interrupts)
		json_u64(json, "interrupts_ns", host->interrupts_ns);
	if (answer->without_steal)
		json_u64(json, "steal_ns", host->steal_ns);
	put_energy(json, answer);
	json_object_end(json);
}

static void write_json(struct buf *out, const struct cost_answer *answer,
		       const struct proc_choice *choice)
{
	struct json json = {.out = out};
	struct shown_rows shown;

	choose_rows(&shown, answer, choice);
	json_object(&json, NULL);
	put_head(&json, answer, choice);
	put_sum(&json, "all", answer, choice, &shown.sum);
	if (cost_kind_get(choice->probe)->values & BIT(COST_RUN))
		put_host(&json, answer);
	if (values_of(answer, choice) & BIT(COST_SOFTIRQ))
		put_softirqs(&json, answer);
	json_array(&json, "rows");
	for (size_t i = 0; i < shown.count && !buf_error(out); i++) {
		json_line(&json);
		put_row(&json, answer, choice, &shown.all[i]);
	}
	json_array_end(&json);
	if (shown.has_others)
		put_sum(&json, "others", answer, choice, &shown.others);
	json_object_end(&json);
	buf_char(out, '\n');
	free(shown.all);
}

static void write_lines(struct buf *out, const struct cost_answer *answer,
			const struct proc_choice *choice)
{
	struct shown_rows shown;

	choose_rows(&shown, answer, choice);
	for (size_t i = 0; i < shown.count && !buf_error(out); i++) {
		struct json json = {.out = out};

		json_object(&json, NULL);
		json_seconds(&json, "from", from_of(answer, choice));
		json_seconds(&json, "until", answer->rows->time_ns);
		put_owner(&json, answer, &shown.all[i]);
		put_values(&json, &shown.all[i], values_of(answer, choice));
		put_estimate(&json, answer, choice, &shown.all[i]);
		json_object_end(&json);
		buf_char(out, '\n');
	}
	free(shown.all);
}

/* ---- a table ---- */

#define COLUMN	    16
#define COLUMNS_MAX 8

/* Writes bytes that a target chose, those that a terminal may show. */
static void put_plain(struct buf *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		buf_char(out, text[i] >= ' ' && text[i] < 0x7f ? text[i] : '?');
}

static void put_label(struct buf *out, const struct cost_answer *answer, const struct cost_row *row)
{
	struct container_labels labels;

	container_labels_of(&labels, cost_row_container(answer->table, row));
	switch (answer->by) {
	case COST_BY_PID:
		if (row->pid)
			buf_printf(out, "%7d ", (int)row->pid);
		else
			buf_printf(out, "%7s (%llu ended)", "-",
				   (unsigned long long)row->processes);
		put_plain(out, row->comm, strnlen(row->comm, COMM_BYTES));
		break;
	case COST_BY_COMM:
		put_plain(out, row->comm, strnlen(row->comm, COMM_BYTES));
		break;
	case COST_BY_CGROUP:
		put_plain(out, cost_row_path(answer->table, row),
			  strlen(cost_row_path(answer->table, row)));
		break;
	case COST_BY_CONTAINER:
	case COST_BY_POD:
	case COST_BY_NONE:
		break;
	}
	if (answer->by == COST_BY_POD)
		put_plain(out, labels.pod, strlen(labels.pod));
	else if (answer->by != COST_BY_NONE && answer->by != COST_BY_COMM && *labels.container) {
		buf_str(out, " [");
		put_plain(out, labels.container, strlen(labels.container));
		buf_char(out, ']');
	}
}

static void put_columns(struct buf *out, const struct cost_row *row, uint64_t values)
{
	for (int i = 0; i < COST_VALUES; i++) {
		if (values & BIT(i))
			buf_printf(out, "%*llu", COLUMN,
				   (unsigned long long)cost_row_value(row, (enum cost)i));
	}
	buf_str(out, "  ");
}

/* Returns the values that a table has: of many those that any row has. */
static uint64_t shown_values(const struct cost_row *sum, const struct proc_choice *choice)
{
	uint64_t all = cost_kind_get(choice->probe)->values, used = BIT(choice->by);

	for (int i = 0; i < COST_VALUES; i++)
		used |= cost_row_value(sum, (enum cost)i) ? BIT(i) : 0;
	return __builtin_popcountll(all) > COLUMNS_MAX ? used : all;
}

static void write_table(struct buf *out, const struct cost_answer *answer,
			const struct proc_choice *choice)
{
	const struct cost_kind *kind = cost_kind_get(choice->probe);
	uint64_t span_ms = (answer->rows->time_ns - from_of(answer, choice)) / NS_PER_MS;
	uint64_t values = values_of(answer, choice);
	struct shown_rows shown;

	choose_rows(&shown, answer, choice);
	values &= shown_values(&shown.sum, choice);
	buf_printf(out, "%s: %s, of %llu.%03llu s\n", kind->name, kind->what,
		   (unsigned long long)(span_ms / 1000), (unsigned long long)(span_ms % 1000));
	for (int i = 0; i < COST_VALUES; i++) {
		if (values & BIT(i))
			buf_printf(out, "%*s", COLUMN, cost_name(i));
	}
	buf_printf(out, "  %s\n", cost_groups[answer->by]);
	for (size_t i = 0; i < shown.count && !buf_error(out); i++) {
		put_columns(out, &shown.all[i], values);
		put_label(out, answer, &shown.all[i]);
		buf_char(out, '\n');
	}
	if (shown.has_others) {
		put_columns(out, &shown.others, values);
		buf_str(out, "others\n");
	}
	put_columns(out, &shown.sum, values);
	buf_str(out, "all\n");
	free(shown.all);
}

const struct proc_form *proc_form_find(const char *extension)
{
	static const struct proc_form forms[] = {
		{".json", "application/json", write_json, true, true},
		{".jsonl", "application/x-ndjson", write_lines, true, false},
		{".txt", "text/plain; charset=utf-8", write_table, false, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		if (strcasecmp(extension, forms[i].extension) == 0)
			return &forms[i];
	}
	return NULL;
}
