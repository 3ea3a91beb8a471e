// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/processes/proc_shown.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "api/status/container_texts.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"

#define BIT(cost)	(1ULL << (cost))
#define EVICTIONS_SHOWN 20

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
	struct shown_rate rates[RATES_MAX];

	for (int i = 0; i < COST_VALUES; i++) {
		if (values & BIT(i))
			json_u64(json, cost_name(i), cost_row_value(row, (enum cost)i));
	}
	for (unsigned i = 0; i < shown_rates(row, values, rates); i++) {
		if (rates[i].value >= 0)
			json_double(json, rates[i].name, rates[i].value);
	}
}

/* Returns the energy of a CPU's time on average, uJ a ns; 0: it isn't known. */
static double energy_of_time(const struct cost_answer *answer)
{
	const struct energy_counts *energy = &answer->rows->energy;
	double wall_ns = (double)energy->time_ns * (double)answer->rows->host.cpus;

	return wall_ns > 0 ? (double)energy_of_packages(energy) / wall_ns : 0;
}

/* Returns the share of the CPUs' time in which something ran. */
static double busy_share(const struct cost_answer *answer)
{
	const struct host_times *host = &answer->rows->host;
	double wall_ns = (double)((answer->rows->time_ns - answer->from_ns) * host->cpus);
	double idle_ns = (double)(host->idle_ns + host->iowait_ns);

	return wall_ns > idle_ns ? 1 - idle_ns / wall_ns : 0;
}

/* Returns the energy of the answer's time, uJ: of the packages, or the active part of it. */
static double packages_energy(const struct cost_answer *answer)
{
	double span_ns = (double)(answer->rows->time_ns - answer->from_ns);

	return energy_of_time(answer) * span_ns * (double)answer->rows->host.cpus;
}

static double active_energy(const struct cost_answer *answer)
{
	return packages_energy(answer) * busy_share(answer);
}

/* Returns the row's part of it: by its cycles, else by its time on CPUs (doc/proc.md). */
static double energy_of_row(const struct cost_answer *answer, const struct cost_row *row)
{
	double cycles = (double)answer->rows->cycles;
	uint64_t counted_ns = answer->counted_from_ns[COUNTER_PMU];

	if (cycles > 0 && counted_ns && counted_ns <= answer->from_ns)
		return active_energy(answer) * (double)cost_row_value(row, COST_PMU_CYCLES) /
		       cycles;
	return energy_of_time(answer) * (double)row->costs.of[COST_RUN];
}

static void put_estimate(struct json *json, const struct cost_answer *answer,
			 const struct proc_choice *choice, const struct cost_row *row)
{
	if (energy_of_time(answer) > 0 && cost_kind_get(choice->probe)->values & BIT(COST_RUN))
		json_u64(json, "energy_estimate_uj", (uint64_t)energy_of_row(answer, row));
}

static void put_row(struct json *json, const struct cost_answer *answer,
		    const struct proc_choice *choice, const struct cost_row *row)
{
	json_object(json, NULL);
	put_owner(json, answer, row);
	put_values(json, row, shown_values(answer, choice));
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

static void put_name(struct json *json, const char *key, const struct cost_name_of *name)
{
	json_object(json, key);
	json_u64(json, "pid", name->pid);
	json_string(json, "comm", name->comm, strnlen(name->comm, COMM_BYTES));
	json_object_end(json);
}

static void put_pairs(struct json *json, const struct cost_answer *answer)
{
	struct shown_pairs shown;

	choose_pairs(&shown, answer);
	json_array(json, "pairs");
	for (size_t i = 0; i < shown.count; i++) {
		json_object(json, NULL);
		put_name(json, "waker", &shown.names[2 * i]);
		put_name(json, "woken", &shown.names[2 * i + 1]);
		json_u64(json, "count", shown.all[i].count);
		json_object_end(json);
	}
	json_array_end(json);
	json_u64(json, "other_pairs", shown.others);
	free(shown.all);
}

/* Says from which memory cgroups reclaim took pages of files, of the whole host. */
static void put_evictions(struct json *json, const struct cost_answer *answer)
{
	size_t count;
	_cleanup_free_ struct keyed_count *all =
		keyed_counts_largest(&answer->rows->evictions, &count);
	uint64_t others = 0;

	json_array(json, "evictions");
	for (size_t i = 0; i < count; i++) {
		bool has_path;
		const struct known_cgroup *group =
			cost_table_cgroup(answer->table, all[i].key, &has_path);

		if (i >= EVICTIONS_SHOWN) {
			others += all[i].count;
			continue;
		}
		json_object(json, NULL);
		json_u64(json, "id", all[i].key);
		if (group && has_path)
			json_name(json, "cgroup", group->path);
		container_json(json, group ? group_container(group) : NULL, 0, 0);
		json_u64(json, "pages", all[i].count);
		json_object_end(json);
	}
	json_array_end(json);
	json_u64(json, "other_evictions", others);
}

static void put_sum(struct json *json, const char *key, const struct cost_answer *answer,
		    const struct proc_choice *choice, const struct cost_row *sum)
{
	json_object(json, key);
	json_u64(json, "processes", sum->processes);
	put_values(json, sum, shown_values(answer, choice));
	json_object_end(json);
}

static void put_head(struct json *json, const struct cost_answer *answer,
		     const struct proc_choice *choice)
{
	json_text(json, "probe", cost_kind_get(choice->probe)->name);
	json_seconds(json, "from", shown_from(answer, choice));
	json_seconds(json, "until", answer->rows->time_ns);
	json_text(json, "group_by", cost_groups[answer->by]);
	json_text(json, "by", cost_name(choice->by));
	if (answer->absent)
		json_text(json, "absent", answer->absent);
	json_number_object(json, "lost", {"threads", answer->lost.threads},
			   {"processes", answer->lost.processes},
			   {"softirqs", answer->counts_lost[COUNTER_SOFTIRQ]},
			   {"pages", answer->counts_lost[COUNTER_CACHE]},
			   {"wakeups", answer->counts_lost[COUNTER_WAKE]},
			   {"switches", answer->counts_lost[COUNTER_PMU]});
}

/* Says what energy the host has used, and what part of the packages' goes by the time in which
 * something ran. */
static void put_energy(struct json *json, const struct cost_answer *answer)
{
	const struct energy_counts *energy = &answer->rows->energy;
	double active_uj = active_energy(answer);

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
			     {"idle_estimate_uj", (uint64_t)(packages_energy(answer) - active_uj)});
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
	if (cost_kind_get(choice->probe)->values & BIT(COST_RUN)) {
		put_host(&json, answer);
		put_energy(&json, answer);
	}
	if (shown_values(answer, choice) & BIT(COST_SOFTIRQ))
		put_softirqs(&json, answer);
	if (choice->probe == PROC_WAKEUP && shown_values(answer, choice))
		put_pairs(&json, answer);
	if (choice->probe == PROC_PAGECACHE && shown_values(answer, choice))
		put_evictions(&json, answer);
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
		json_seconds(&json, "from", shown_from(answer, choice));
		json_seconds(&json, "until", answer->rows->time_ns);
		put_owner(&json, answer, &shown.all[i]);
		put_values(&json, &shown.all[i], shown_values(answer, choice));
		put_estimate(&json, answer, choice, &shown.all[i]);
		json_object_end(&json);
		buf_char(out, '\n');
	}
	free(shown.all);
}

const struct proc_form *proc_form_find(const char *extension)
{
	static const struct proc_form forms[] = {
		{".json", "application/json", write_json, true, true},
		{".jsonl", "application/x-ndjson", write_lines, true, false},
		{".txt", "text/plain; charset=utf-8", proc_table, false, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		if (strcasecmp(extension, forms[i].extension) == 0)
			return &forms[i];
	}
	return NULL;
}
