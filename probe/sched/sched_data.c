// SPDX-License-Identifier: GPL-2.0-or-later
#include "sched/sched_data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "container/container.h"

void sched_data_done(struct sched_data *data)
{
	free(TAKE_PTR(data->rows));
	free(TAKE_PTR(data->cells));
	free(TAKE_PTR(data->lengths));
	for (size_t i = 0; data->events && i < data->count; i++)
		container_unref(data->events[i].container);
	free(TAKE_PTR(data->events));
	data->count = data->room = 0;
}

/*
 * Returns `items` with room for one more of `bytes` bytes. NULL: no memory, and `items` is
 * unchanged.
 */
static void *make_room(void *items, struct sched_data *data, size_t bytes)
{
	if (data->count < data->room)
		return items;
	size_t room = data->room ? data->room * 2 : 16;
	void *more = reallocarray(items, room, bytes);
	if (more)
		data->room = room;
	return more;
}

struct sched_reading {
	struct sched_data *data;
	int error;
};

static void add_row(void *arg, const struct hist_row *row)
{
	struct sched_reading *reading = arg;
	struct sched_data *data = reading->data;

	struct hist_row *rows = make_room(data->rows, data, sizeof(*row));
	if (!rows) {
		reading->error = -ENOMEM;
		return;
	}
	data->rows = rows;
	rows[data->count++] = *row;
}

static void add_lengths(void *arg, unsigned cpu, const struct lengths *lengths)
{
	struct sched_reading *reading = arg;
	struct sched_data *data = reading->data;

	struct cpu_lengths *all = make_room(data->lengths, data, sizeof(*all));
	if (!all) {
		reading->error = -ENOMEM;
		return;
	}
	data->lengths = all;
	all[data->count++] = (struct cpu_lengths){cpu, *lengths};
}

static int compare_rows(const void *a, const void *b)
{
	const struct hist_row *left = a, *right = b;

	return (left->group > right->group) - (left->group < right->group);
}

static int compare_cpus(const void *a, const void *b)
{
	const struct cpu_lengths *left = a, *right = b;

	return (left->cpu > right->cpu) - (left->cpu < right->cpu);
}

int sched_data_read(struct sched_data *data, struct tracer *tracer)
{
	struct sched_reading reading = {.data = data};
	int r = 0;

	switch (sched_form(data->probe)) {
	case SCHED_HIST:
		r = tracer_hists_read(tracer, data->probe, add_row, &reading);
		break;
	case SCHED_LENGTHS:
		r = tracer_lengths_read(tracer, add_lengths, &reading);
		break;
	default: /* events are in the log */
		return 0;
	}
	if (r < 0 || reading.error < 0)
		return r < 0 ? r : reading.error;
	if (data->rows)
		qsort(data->rows, data->count, sizeof(*data->rows), compare_rows);
	if (data->lengths)
		qsort(data->lengths, data->count, sizeof(*data->lengths), compare_cpus);
	return 0;
}

static void add_cell(void *arg, const struct hist_cell *cell)
{
	struct sched_reading *reading = arg;
	struct sched_data *data = reading->data;

	struct hist_cell *cells = make_room(data->cells, data, sizeof(*cells));
	if (!cells) {
		reading->error = -ENOMEM;
		return;
	}
	data->cells = cells;
	cells[data->count++] = *cell;
}

static int compare_cells(const void *a, const void *b)
{
	const struct cell_key *left = &((const struct hist_cell *)a)->key;
	const struct cell_key *right = &((const struct hist_cell *)b)->key;

	if (left->group != right->group)
		return left->group < right->group ? -1 : 1;
	return (left->cell > right->cell) - (left->cell < right->cell);
}

int sched_data_read_scaled(struct sched_data *data, struct tracer *tracer, uint64_t number)
{
	struct sched_reading reading = {.data = data};
	int r = tracer_scaled_read(tracer, number, add_cell, &reading);

	if (r < 0 || reading.error < 0)
		return r < 0 ? r : reading.error;
	if (data->cells)
		qsort(data->cells, data->count, sizeof(*data->cells), compare_cells);
	return 0;
}

size_t sched_data_group_end(const struct sched_data *data, size_t i)
{
	uint64_t group = data->cells[i].key.group;

	while (i < data->count && data->cells[i].key.group == group)
		i++;
	return i;
}

uint64_t scale_from(const struct sched_scale *scale, uint64_t cell)
{
	if (scale->step)
		return cell * scale->step;
	return cell ? 1ULL << (cell - 1) : 0;
}

uint64_t scale_until(const struct sched_scale *scale, uint64_t cell)
{
	return scale_from(scale, cell + 1);
}

int sched_data_add_events(struct sched_data *data, const struct slow_log *log, uint64_t from)
{
	uint64_t first = slow_log_first(log);

	if (from < first)
		data->missed += first - from;
	for (uint64_t i = from > first ? from : first; i < log->next; i++) {
		struct slow_entry *events = make_room(data->events, data, sizeof(*events));

		if (!events)
			return -ENOMEM;
		data->events = events;
		events[data->count] = *slow_log_get(log, i);
		container_ref(events[data->count++].container);
	}
	return 0;
}

static void *copy_items(const void *items, size_t bytes)
{
	void *copy = malloc(bytes);

	if (copy)
		memcpy(copy, items, bytes);
	return copy;
}

int sched_data_copy(struct sched_data *to, const struct sched_data *from)
{
	if (from->rows && from->count) {
		to->rows = copy_items(from->rows, from->count * sizeof(*from->rows));
		if (!to->rows)
			return -ENOMEM;
	} else if (from->cells && from->count) {
		to->cells = copy_items(from->cells, from->count * sizeof(*from->cells));
		if (!to->cells)
			return -ENOMEM;
	} else if (from->lengths && from->count) {
		to->lengths = copy_items(from->lengths, from->count * sizeof(*from->lengths));
		if (!to->lengths)
			return -ENOMEM;
	}
	to->count = to->room = from->count;
	return 0;
}

static void subtract_slots(uint64_t *slots, const uint64_t *before, size_t count)
{
	for (size_t i = 0; i < count; i++)
		slots[i] -= before[i] < slots[i] ? before[i] : slots[i];
}

static void subtract_rows(struct sched_data *data, const struct sched_data *before)
{
	size_t kept = 0;

	for (size_t i = 0, j = 0; i < data->count; i++) {
		struct hist_row *row = &data->rows[i];

		while (j < before->count && before->rows[j].group < row->group)
			j++;
		if (j < before->count && before->rows[j].group == row->group) {
			const struct hist *old = &before->rows[j].hist;

			subtract_slots(row->hist.slots, old->slots, HIST_SLOTS);
			subtract_slots(&row->hist.sum_ns, &old->sum_ns, 1);
		}
		if (hist_count(&row->hist))
			data->rows[kept++] = *row;
	}
	data->count = kept;
}

static void subtract_lengths(struct sched_data *data, const struct sched_data *before)
{
	for (size_t i = 0, j = 0; i < data->count; i++) {
		struct cpu_lengths *one = &data->lengths[i];

		while (j < before->count && before->lengths[j].cpu < one->cpu)
			j++;
		if (j < before->count && before->lengths[j].cpu == one->cpu)
			subtract_slots(one->lengths.slots, before->lengths[j].lengths.slots,
				       LENGTH_SLOTS);
	}
}

static void subtract_cells(struct sched_data *data, const struct sched_data *before)
{
	size_t kept = 0;

	for (size_t i = 0, j = 0; i < data->count; i++) {
		struct hist_cell *one = &data->cells[i];

		while (j < before->count && compare_cells(&before->cells[j], one) < 0)
			j++;
		if (j < before->count && compare_cells(&before->cells[j], one) == 0) {
			subtract_slots(&one->cell.count, &before->cells[j].cell.count, 1);
			subtract_slots(&one->cell.sum_ns, &before->cells[j].cell.sum_ns, 1);
		}
		if (one->cell.count)
			data->cells[kept++] = *one;
	}
	data->count = kept;
}

void sched_data_subtract(struct sched_data *data, const struct sched_data *before)
{
	if (data->rows && before->rows)
		subtract_rows(data, before);
	else if (data->cells && before->cells)
		subtract_cells(data, before);
	else if (data->lengths && before->lengths)
		subtract_lengths(data, before);
}

uint64_t hist_bound_us(const struct hist *hist, uint64_t count, double part)
{
	uint64_t below = 0;

	for (size_t i = 0; i + 1 < HIST_SLOTS; i++) {
		below += hist->slots[i];
		if ((double)below >= (double)count * part)
			return 1ULL << i;
	}
	return 0;
}

uint64_t hist_count(const struct hist *hist)
{
	uint64_t count = 0;

	for (size_t i = 0; i < HIST_SLOTS; i++)
		count += hist->slots[i];
	return count;
}

uint64_t lengths_count(const struct lengths *lengths)
{
	uint64_t count = 0;

	for (size_t i = 0; i < LENGTH_SLOTS; i++)
		count += lengths->slots[i];
	return count;
}

uint64_t sched_data_count(const struct sched_data *data)
{
	struct lengths lengths;
	struct hist hist;

	switch (sched_form(data->probe)) {
	case SCHED_HIST:
		sched_data_sum(data, &hist);
		return hist_count(&hist);
	case SCHED_LENGTHS:
		sched_data_sum_lengths(data, &lengths);
		return lengths_count(&lengths);
	default:
		return data->count + data->missed;
	}
}

void sched_data_sum(const struct sched_data *data, struct hist *sum)
{
	*sum = (struct hist){0};
	for (size_t i = 0; data->rows && i < data->count; i++) {
		const struct hist *one = &data->rows[i].hist;

		for (size_t slot = 0; slot < HIST_SLOTS; slot++)
			sum->slots[slot] += one->slots[slot];
		sum->sum_ns += one->sum_ns;
	}
}

void sched_data_sum_lengths(const struct sched_data *data, struct lengths *sum)
{
	*sum = (struct lengths){0};
	for (size_t i = 0; data->lengths && i < data->count; i++) {
		for (size_t slot = 0; slot < LENGTH_SLOTS; slot++)
			sum->slots[slot] += data->lengths[i].lengths.slots[slot];
	}
}
