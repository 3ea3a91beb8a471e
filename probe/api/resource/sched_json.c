// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "api/status/container_texts.h"
#include "api/resource/sched_output.h"
#include "loop/loop.h"
#include "output/text/json_string.h"

static const char *const groups[] = {
	[GROUP_NONE] = "none",	 [GROUP_PID] = "pid",	    [GROUP_TID] = "tid",
	[GROUP_PIDNS] = "pidns", [GROUP_CGROUP] = "cgroup", [GROUP_CPU] = "cpu",
};

static void put_comm(struct buf *out, const char *comm)
{
	json_string(out, comm, strnlen(comm, COMM_BYTES));
}

static void put_number(struct buf *out, const char *key, uint64_t value)
{
	buf_char(out, '"');
	buf_str(out, key);
	buf_str(out, "\":");
	buf_u64(out, value);
}

/* Writes a time, ns since 1970, in seconds. */
static void put_time(struct buf *out, const char *key, uint64_t time_ns)
{
	buf_printf(out, "\"%s\":%llu.%03llu", key, (unsigned long long)(time_ns / NS_PER_S),
		   (unsigned long long)(time_ns % NS_PER_S / NS_PER_MS));
}

static size_t slots_used(const uint64_t *slots, size_t count)
{
	while (count && !slots[count - 1])
		count--;
	return count;
}

/* Writes the slots. `limit(i)` is where slot i begins; the last slot has no end. */
static void put_buckets(struct buf *out, const uint64_t *slots, size_t count,
			uint64_t (*limit)(size_t slot))
{
	size_t used = slots_used(slots, count);

	buf_str(out, "\"buckets\":[");
	for (size_t i = 0; i < used; i++) {
		buf_str(out, i ? ",{" : "{");
		put_number(out, "from", limit(i));
		if (i + 1 < count) {
			buf_char(out, ',');
			put_number(out, "to", limit(i + 1));
		} else {
			buf_str(out, ",\"to\":null");
		}
		buf_char(out, ',');
		put_number(out, "count", slots[i]);
		buf_char(out, '}');
	}
	buf_char(out, ']');
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

static void put_hist(struct buf *out, enum group_by by, const struct hist_row *row)
{
	bool has_comm = by == GROUP_PID || by == GROUP_TID;

	buf_str(out, "{\"group\":");
	if (by == GROUP_NONE)
		buf_str(out, "null");
	else
		buf_u64(out, row->group);
	buf_str(out, ",\"comm\":");
	put_comm(out, has_comm ? row->hist.comm : "");
	buf_char(out, ',');
	put_number(out, "count", hist_count(&row->hist));
	buf_char(out, ',');
	put_number(out, "sum_us", row->hist.sum_ns / 1000);
	buf_char(out, ',');
	put_buckets(out, row->hist.slots, HIST_SLOTS, power_limit);
	buf_char(out, '}');
}

static void put_hists(struct buf *out, const struct sched_data *data)
{
	buf_printf(out, "\"unit\":\"us\",\"group_by\":\"%s\",\"histograms\":[",
		   groups[data->group_by]);
	for (size_t i = 0; i < data->count && !buf_error(out); i++) {
		buf_str(out, i ? ",\n" : "\n");
		put_hist(out, data->group_by, &data->rows[i]);
	}
	buf_str(out, "]");
}

static void put_lengths(struct buf *out, const struct lengths *lengths)
{
	uint64_t count = lengths_count(lengths), sum = 0;

	for (size_t i = 0; i < LENGTH_SLOTS; i++)
		sum += i * lengths->slots[i];
	put_number(out, "count", count);
	buf_char(out, ',');
	put_number(out, "sum", sum);
	buf_printf(out, ",\"occupancy\":%.6f,",
		   count ? (double)(count - lengths->slots[0]) / (double)count : 0.0);
	put_buckets(out, lengths->slots, LENGTH_SLOTS, linear_limit);
	buf_char(out, '}');
}

static void put_cpus(struct buf *out, const struct sched_data *data)
{
	struct lengths sum;

	buf_str(out, "\"unit\":\"tasks\",\"group_by\":\"cpu\",\"histograms\":[");
	for (size_t i = 0; i < data->count; i++) {
		buf_printf(out, "%s{\"group\":%u,\"comm\":\"\",", i ? ",\n" : "\n",
			   data->lengths[i].cpu);
		put_lengths(out, &data->lengths[i].lengths);
	}
	sched_data_sum_lengths(data, &sum);
	buf_str(out, "],\n\"all\":{");
	put_lengths(out, &sum);
}

/* ---- runqslower ---- */

static void put_other(struct buf *out, const char *key, const struct slow_other *other)
{
	buf_printf(out, ",\"%s\":", key);
	if (!other->comm[0]) {
		buf_str(out, "null");
		return;
	}
	buf_str(out, "{\"comm\":");
	put_comm(out, other->comm);
	buf_printf(out, ",\"tid\":%u}", other->tid);
}

static void put_event(struct buf *out, const struct slow_entry *entry)
{
	buf_char(out, '{');
	put_time(out, "time", entry->time_ns);
	buf_str(out, ",\"comm\":");
	put_comm(out, entry->comm);
	buf_printf(out, ",\"pid\":%u,\"tid\":%u,\"cpu\":%u", entry->tgid, entry->tid, entry->cpu);
	container_json(out, entry->container, (pid_t)entry->tgid, entry->ns_pid);
	buf_char(out, ',');
	put_number(out, "lat_us", entry->delay_ns / 1000);
	put_other(out, "prev", &entry->before);
	put_other(out, "most", &entry->most);
	buf_char(out, ',');
	put_number(out, "most_us", entry->most_ns / 1000);
	buf_char(out, '}');
}

static void put_events(struct buf *out, const struct sched_data *data)
{
	buf_str(out, "\"unit\":\"us\",");
	put_number(out, "min_us", data->slow_ns / 1000);
	buf_char(out, ',');
	put_number(out, "missed", data->missed);
	buf_str(out, ",\"events\":[");
	for (size_t i = 0; i < data->count; i++) {
		buf_str(out, i ? ",\n" : "\n");
		put_event(out, &data->events[i]);
	}
	buf_char(out, ']');
}

void sched_json(struct buf *out, const struct sched_data *data)
{
	buf_printf(out, "{\"probe\":\"%s\",", sched_kind_get(data->probe)->name);
	put_time(out, "from", data->from_ns);
	buf_char(out, ',');
	put_time(out, "until", data->until_ns);
	buf_char(out, ',');
	switch (data->probe) {
	case SCHED_RUNQLEN:
		put_cpus(out, data);
		break;
	case SCHED_RUNQSLOWER:
		put_events(out, data);
		break;
	default:
		put_hists(out, data);
	}
	buf_str(out, "}\n");
}
