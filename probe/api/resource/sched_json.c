// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "api/status/container_texts.h"
#include "api/resource/sched_output.h"
#include "loop/loop.h"

static const char *const groups[] = {
	[GROUP_NONE] = "none",	 [GROUP_PID] = "pid",	    [GROUP_TID] = "tid",
	[GROUP_PIDNS] = "pidns", [GROUP_CGROUP] = "cgroup", [GROUP_CPU] = "cpu",
};

static void put_comm(struct json *json, const char *comm)
{
	json_string(json, "comm", comm, strnlen(comm, COMM_BYTES));
}

static size_t slots_used(const uint64_t *slots, size_t count)
{
	while (count && !slots[count - 1])
		count--;
	return count;
}

/* Writes the slots. `limit(i)` is where slot i begins; the last slot has no end. */
static void put_buckets(struct json *json, const uint64_t *slots, size_t count,
			uint64_t (*limit)(size_t slot))
{
	size_t used = slots_used(slots, count);

	json_array(json, "buckets");
	for (size_t i = 0; i < used; i++) {
		json_object(json, NULL);
		json_u64(json, "from", limit(i));
		if (i + 1 < count)
			json_u64(json, "to", limit(i + 1));
		else
			json_raw(json, "to", "null");
		json_u64(json, "count", slots[i]);
		json_object_end(json);
	}
	json_array_end(json);
}

static uint64_t power_limit(size_t slot)
{
	return slot ? 1ULL << (slot - 1) : 0;
}

static uint64_t linear_limit(size_t slot)
{
	return slot;
}

/* ---- histograms ---- */

static void put_group(struct json *json, enum group_by by, uint64_t group, const char *comm)
{
	bool has_comm = by == GROUP_PID || by == GROUP_TID;

	json_line(json);
	json_object(json, NULL);
	if (by == GROUP_NONE)
		json_raw(json, "group", "null");
	else
		json_u64(json, "group", group);
	put_comm(json, has_comm ? comm : "");
}

static void put_hist(struct json *json, enum group_by by, const struct hist_row *row)
{
	put_group(json, by, row->group, row->hist.comm);
	json_numbers(json, {"count", hist_count(&row->hist)}, {"sum_us", row->hist.sum_ns / 1000});
	put_buckets(json, row->hist.slots, HIST_SLOTS, power_limit);
	json_object_end(json);
}

static void put_cells(struct json *json, const struct sched_scale *scale,
		      const struct hist_cell *cells, size_t n)
{
	json_array(json, "buckets");
	for (size_t i = 0; i < n && !buf_error(json->out); i++) {
		json_object(json, NULL);
		json_numbers(json, {"from", scale_from(scale, cells[i].key.cell)},
			     {"to", scale_until(scale, cells[i].key.cell)},
			     {"count", cells[i].cell.count});
		json_object_end(json);
	}
	json_array_end(json);
}

static void put_scaled(struct json *json, const struct sched_data *data)
{
	json_text(json, "unit", data->scale.unit_us == 1000 ? "ms" : "us");
	if (data->scale.step)
		json_u64(json, "step", data->scale.step);
	json_text(json, "group_by", groups[data->group_by]);
	json_array(json, "histograms");
	for (size_t i = 0, next; i < data->count && !buf_error(json->out); i = next) {
		const struct hist_cell *cells = &data->cells[i];
		uint64_t count = 0, sum_ns = 0;

		next = sched_data_group_end(data, i);
		for (size_t k = i; k < next; k++) {
			count += data->cells[k].cell.count;
			sum_ns += data->cells[k].cell.sum_ns;
		}
		put_group(json, data->group_by, cells->key.group, cells->cell.comm);
		json_numbers(json, {"count", count}, {"sum_us", sum_ns / 1000});
		put_cells(json, &data->scale, cells, next - i);
		json_object_end(json);
	}
	json_array_end(json);
}

static void put_hists(struct json *json, const struct sched_data *data)
{
	if (data->scale.unit_us) {
		put_scaled(json, data);
		return;
	}
	json_text(json, "unit", "us");
	json_text(json, "group_by", groups[data->group_by]);
	json_array(json, "histograms");
	for (size_t i = 0; i < data->count && !buf_error(json->out); i++)
		put_hist(json, data->group_by, &data->rows[i]);
	json_array_end(json);
}

static void put_lengths(struct json *json, const struct lengths *lengths)
{
	uint64_t count = lengths_count(lengths), sum = 0;

	for (size_t i = 0; i < LENGTH_SLOTS; i++)
		sum += i * lengths->slots[i];
	json_numbers(json, {"count", count}, {"sum", sum});
	json_raw(json, "occupancy", "");
	buf_printf(json->out, "%.6f",
		   count ? (double)(count - lengths->slots[0]) / (double)count : 0.0);
	put_buckets(json, lengths->slots, LENGTH_SLOTS, linear_limit);
}

static void put_cpus(struct json *json, const struct sched_data *data)
{
	struct lengths sum;

	json_text(json, "unit", "tasks");
	json_text(json, "group_by", "cpu");
	json_array(json, "histograms");
	for (size_t i = 0; i < data->count; i++) {
		json_line(json);
		json_object(json, NULL);
		json_u64(json, "group", data->lengths[i].cpu);
		put_comm(json, "");
		put_lengths(json, &data->lengths[i].lengths);
		json_object_end(json);
	}
	json_array_end(json);
	json_line(json);
	sched_data_sum_lengths(data, &sum);
	json_object(json, "all");
	put_lengths(json, &sum);
	json_object_end(json);
}

/* ---- events ---- */

static void put_other(struct json *json, const char *key, const struct slow_other *other)
{
	if (!other->comm[0]) {
		json_raw(json, key, "null");
		return;
	}
	json_object(json, key);
	put_comm(json, other->comm);
	json_u64(json, "tid", other->tid);
	json_object_end(json);
}

static void put_event(struct json *json, const struct slow_entry *entry)
{
	json_line(json);
	json_object(json, NULL);
	json_seconds(json, "time", entry->time_ns);
	put_comm(json, entry->comm);
	json_numbers(json, {"pid", entry->tgid}, {"tid", entry->tid}, {"cpu", entry->cpu});
	container_json(json, entry->container, (pid_t)entry->tgid, entry->ns_pid);
	json_u64(json, "lat_us", entry->delay_ns / 1000);
	if (sched_probes_at(RUNQ_ENDED) & 1U << entry->probe) {
		put_other(json, "prev", &entry->before);
		put_other(json, "most", &entry->most);
		json_u64(json, "most_us", entry->most_ns / 1000);
	} else {
		json_text(json, "state", entry->state == WAIT_DISK ? "D" : "S");
	}
	json_object_end(json);
}

static void put_events(struct json *json, const struct sched_data *data)
{
	json_text(json, "unit", "us");
	json_numbers(json, {"min_us", data->slow_ns / 1000}, {"missed", data->missed});
	json_array(json, "events");
	for (size_t i = 0; i < data->count; i++)
		put_event(json, &data->events[i]);
	json_array_end(json);
}

static void (*const forms[SCHED_FORMS])(struct json *json, const struct sched_data *data) = {
	[SCHED_HIST] = put_hists,
	[SCHED_LENGTHS] = put_cpus,
	[SCHED_EVENTS] = put_events,
};

void sched_json(struct buf *out, const struct sched_data *data)
{
	struct json json = {.out = out};

	json_object(&json, NULL);
	json_text(&json, "probe", sched_kind_get(data->probe)->name);
	json_seconds(&json, "from", data->from_ns);
	json_seconds(&json, "until", data->until_ns);
	forms[sched_form(data->probe)](&json, data);
	if (data->refused)
		json_u64(&json, "refused", data->refused);
	json_object_end(&json);
	buf_char(out, '\n');
}
