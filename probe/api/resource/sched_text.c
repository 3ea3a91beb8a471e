// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/resource/sched_output.h"
#include "base/cleanup.h"
#include "loop/loop.h"
#include "base/utf8.h"
#include "output/text/chart.h"

#define COMM_COLUMN 16

/* Writes a name, padded with blanks to `width`; unprintable bytes become question marks. */
static void put_comm(struct buf *out, const char *comm, size_t width)
{
	size_t len = strnlen(comm, COMM_BYTES), columns = 0;

	for (size_t at = 0; at < len; columns++) {
		size_t n = utf8_sequence(comm + at, len - at);
		unsigned char c = (unsigned char)comm[at];

		if (n == 0 || (n == 1 && (c < ' ' || c == 0x7f)))
			buf_char(out, '?');
		else
			buf_add(out, comm + at, n);
		at += n ? n : 1;
	}
	for (; columns < width; columns++)
		buf_char(out, ' ');
}

/* How exactly a time is written. */
enum exactness { TIME_ONLY, WITH_DATE, WITH_US };

static void put_time(struct buf *out, uint64_t time_ns, enum exactness exactness)
{
	time_t seconds = (time_t)(time_ns / NS_PER_S);
	struct tm local = {0};

	localtime_r(&seconds, &local);
	if (exactness == WITH_DATE)
		buf_printf(out, "%d-%02d-%02d ", local.tm_year + 1900, local.tm_mon + 1,
			   local.tm_mday);
	buf_printf(out, "%02d:%02d:%02d", local.tm_hour, local.tm_min, local.tm_sec);
	if (exactness == WITH_US)
		buf_printf(out, ".%06llu", (unsigned long long)(time_ns % NS_PER_S / 1000));
}

static void put_head(struct buf *out, const struct sched_data *data)
{
	buf_printf(out, "# %s, ", sched_kind_get(data->probe)->name);
	put_time(out, data->from_ns, WITH_DATE);
	buf_str(out, " to ");
	put_time(out, data->until_ns, WITH_DATE);
	buf_printf(out, " (%.1f s)\n", (double)(data->until_ns - data->from_ns) / (double)NS_PER_S);
}

/* ---- histograms ---- */

static void put_group(struct buf *out, enum group_by by, const struct hist_row *row)
{
	static const char *const names[] = {
		[GROUP_PID] = "pid",	   [GROUP_TID] = "tid", [GROUP_PIDNS] = "pidns",
		[GROUP_CGROUP] = "cgroup", [GROUP_CPU] = "cpu",
	};

	if (by == GROUP_NONE)
		return;
	buf_printf(out, "\n%s = %llu", names[by], (unsigned long long)row->group);
	if (by == GROUP_PID || by == GROUP_TID) {
		buf_char(out, ' ');
		put_comm(out, row->hist.comm, 0);
	}
	buf_char(out, '\n');
}

static const unsigned percents[] = {50, 90, 99};

static const char *scale_name(const struct sched_scale *scale)
{
	return scale->unit_us == 1000 ? "msecs" : "usecs";
}

/* Writes between which powers of two the percentiles lie; the upper ends are shown. */
static void put_percentiles(struct buf *out, const struct hist *hist)
{
	uint64_t count = hist_count(hist);

	for (size_t i = 0; count && i < ARRAY_SIZE(percents); i++) {
		uint64_t us = hist_bound_us(hist, count, percents[i] / 100.0);

		buf_printf(out, "%sp%u %c %llu", i ? ", " : "", percents[i], us ? '<' : '>',
			   (unsigned long long)(us ? us : 1ULL << (HIST_SLOTS - 2)));
	}
	if (count)
		buf_str(out, " usecs\n");
}

/* ---- scaled histograms ---- */

#define ROWS_DENSE 200	/* with more rows, empty ones are left out … */
#define DENSE_SURE 20	/* rows that are few anyway */
#define ROWS_MAX   1000 /* … and these are shown at most */

/* Returns the cell within which that part of `count` values lies. */
static uint64_t cell_of_part(const struct hist_cell *cells, uint64_t count, double part)
{
	uint64_t below = 0;

	for (size_t i = 0;; i++) {
		below += cells[i].cell.count;
		if ((double)below >= (double)count * part)
			return cells[i].key.cell;
	}
}

static void put_scaled_percentiles(struct buf *out, const struct sched_scale *scale,
				   const struct hist_cell *cells, uint64_t count)
{
	for (size_t i = 0; count && i < ARRAY_SIZE(percents); i++) {
		uint64_t cell = cell_of_part(cells, count, percents[i] / 100.0);

		buf_printf(out, "%sp%u < %llu", i ? ", " : "", percents[i],
			   (unsigned long long)scale_until(scale, cell));
	}
	buf_printf(out, " %s\n", scale_name(scale));
}

/* Fills in rows from the first cell on; empty ones between if that makes no long chart. Returns
 * how many. */
static size_t fill_rows(const struct sched_scale *scale, const struct hist_cell *cells, size_t n,
			struct chart_row *rows)
{
	uint64_t first = cells[0].key.cell;
	uint64_t span = cells[n - 1].key.cell - first;
	bool dense = span < ROWS_DENSE && span < 4 * (uint64_t)n + DENSE_SURE;
	uint64_t cell = first;
	size_t count = 0;

	for (size_t i = 0; i < n && count < ROWS_MAX; cell++) {
		bool here = cells[i].key.cell == cell;

		if (here || dense)
			rows[count++] = (struct chart_row){scale_from(scale, cell),
							   scale_until(scale, cell) - 1,
							   here ? cells[i].cell.count : 0};
		if (here)
			i++;
		else if (!dense)
			cell = cells[i].key.cell - 1;
	}
	return count;
}

/* `rows`: room for ROWS_MAX. */
static void put_cells(struct buf *out, const struct sched_scale *scale,
		      const struct hist_cell *cells, size_t n, struct chart_row *rows)
{
	size_t shown = fill_rows(scale, cells, n, rows);
	uint64_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += cells[i].cell.count;
	chart_rows(out, scale_name(scale), rows, shown);
	if (n > ROWS_MAX)
		buf_printf(out, "# %zu longer rows are left out; .json has them\n", n - ROWS_MAX);
	put_scaled_percentiles(out, scale, cells, count);
}

static void put_scaled(struct buf *out, const struct sched_data *data)
{
	_cleanup_free_ struct chart_row *rows = calloc(ROWS_MAX, sizeof(*rows));

	if (!rows) {
		out->error = -ENOMEM;
		return;
	}
	for (size_t i = 0, next; i < data->count && !buf_error(out); i = next) {
		struct hist_row head = {.group = data->cells[i].key.group};

		next = sched_data_group_end(data, i);
		memcpy(head.hist.comm, data->cells[i].cell.comm, COMM_BYTES);
		put_group(out, data->group_by, &head);
		put_cells(out, &data->scale, &data->cells[i], next - i, rows);
	}
	if (!data->count)
		chart_rows(out, scale_name(&data->scale), NULL, 0);
}

static void put_hists(struct buf *out, const struct sched_data *data)
{
	if (data->scale.unit_us) {
		put_scaled(out, data);
		return;
	}
	for (size_t i = 0; i < data->count && !buf_error(out); i++) {
		put_group(out, data->group_by, &data->rows[i]);
		chart_powers(out, "usecs", data->rows[i].hist.slots, HIST_SLOTS);
		put_percentiles(out, &data->rows[i].hist);
	}
}

static void put_lengths(struct buf *out, const char *name, const struct lengths *lengths)
{
	uint64_t count = lengths_count(lengths);

	chart_linear(out, name, lengths->slots, LENGTH_SLOTS);
	if (count)
		buf_printf(out, "occupancy: %.2f %%\n",
			   100.0 * (double)(count - lengths->slots[0]) / (double)count);
}

static void put_cpus(struct buf *out, const struct sched_data *data)
{
	const char *name = sched_kind_get(data->probe)->name;
	struct lengths sum;

	for (size_t i = 0; i < data->count && !buf_error(out); i++) {
		buf_printf(out, "\ncpu = %u\n", data->lengths[i].cpu);
		put_lengths(out, name, &data->lengths[i].lengths);
	}
	sched_data_sum_lengths(data, &sum);
	buf_str(out, "\nall CPUs\n");
	put_lengths(out, name, &sum);
}

/* ---- events ---- */

/* Who had the CPU meanwhile is known of waits for a CPU. */
static bool has_others(enum sched_probe probe)
{
	return sched_probes_at(RUNQ_ENDED) & 1U << probe;
}

void sched_text_slow_head(struct buf *out, enum sched_probe probe)
{
	if (!has_others(probe)) {
		buf_str(out, "TIME            COMM             TID     PID          LAT(us) STATE "
			     "CPU\n");
		return;
	}
	buf_str(out,
		"TIME     COMM             TID          LAT(us) PREV COMM        PREV TID CPU  "
		"MOST COMM        MOST TID     MOST(us)\n");
}

static void put_other(struct buf *out, const struct slow_other *other)
{
	put_comm(out, other->comm[0] ? other->comm : "-", COMM_COLUMN);
	if (other->comm[0])
		buf_printf(out, " %-8u", other->tid);
	else
		buf_str(out, " -       ");
}

/* One wait, its place in time exact to a us. */
static void put_wait(struct buf *out, const struct slow_entry *entry)
{
	put_time(out, entry->time_ns, WITH_US);
	buf_char(out, ' ');
	put_comm(out, entry->comm, COMM_COLUMN);
	buf_printf(out, " %-7u %-7u %12llu %-5s %u\n", entry->tid, entry->tgid,
		   (unsigned long long)(entry->delay_ns / 1000),
		   entry->state == WAIT_DISK ? "D" : "S", entry->cpu);
}

void sched_text_slow(struct buf *out, const struct slow_entry *entry)
{
	if (!has_others(entry->probe)) {
		put_wait(out, entry);
		return;
	}
	put_time(out, entry->time_ns, TIME_ONLY);
	buf_char(out, ' ');
	put_comm(out, entry->comm, COMM_COLUMN);
	buf_printf(out, " %-7u %12llu ", entry->tid, (unsigned long long)(entry->delay_ns / 1000));
	put_other(out, &entry->before);
	buf_printf(out, " %-4u ", entry->cpu);
	put_other(out, &entry->most);
	if (entry->most.comm[0])
		buf_printf(out, " %12llu\n", (unsigned long long)(entry->most_ns / 1000));
	else
		buf_str(out, "            -\n");
}

static void put_events(struct buf *out, const struct sched_data *data)
{
	buf_printf(out, "# %s than %llu us\n",
		   has_others(data->probe) ? "run queue latency higher" : "blocked for longer",
		   (unsigned long long)(data->slow_ns / 1000));
	if (data->missed)
		buf_printf(out, "# %llu before these are no longer kept\n",
			   (unsigned long long)data->missed);
	sched_text_slow_head(out, data->probe);
	for (size_t i = 0; i < data->count; i++)
		sched_text_slow(out, &data->events[i]);
}

static void (*const forms[SCHED_FORMS])(struct buf *out, const struct sched_data *data) = {
	[SCHED_HIST] = put_hists,
	[SCHED_LENGTHS] = put_cpus,
	[SCHED_EVENTS] = put_events,
};

void sched_text(struct buf *out, const struct sched_data *data)
{
	put_head(out, data);
	forms[sched_form(data->probe)](out, data);
	if (data->refused)
		buf_printf(out, "# %llu found no room, here or in measurements at the same time\n",
			   (unsigned long long)data->refused);
}
