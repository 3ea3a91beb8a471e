// SPDX-License-Identifier: GPL-2.0-or-later
#include "stack/records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/array_index.h"
#include "base/grow.h"
#include "container/container.h"
#include "stack/owners.h"

#define WHO_MAX		    65536
#define LIBRARIES_MAX	    (UINT16_MAX + 1)
#define LIBRARIES_BYTES_MAX (1u << 20)

struct record_sum {
	struct record_key key;
	uint64_t weight, first_ns;
};

/* The part of struct record_who that tells threads apart; the rest may become known later. The key
 * has no padding. */
struct who_key {
	uint64_t pid, start_ticks;
	char process[RECORD_NAME_BYTES], thread[RECORD_NAME_BYTES];
};

struct records {
	struct record_sum *sums;
	size_t count, capacity;
	struct array_index numbers; /* the index of `sums` */
	struct map *who_numbers;    /* struct who_key -> uint32_t */
	struct record_who *who;
	size_t who_count, who_capacity;
	struct intern *libraries;
	size_t max;
};

int records_new(struct records **ret, size_t max)
{
	struct records *records = calloc(1, sizeof(*records));

	if (!records)
		return -ENOMEM;
	records->max = max;
	array_index_init(&records->numbers, sizeof(struct record_sum), sizeof(struct record_key));
	int r = map_new(&records->who_numbers, sizeof(struct who_key), sizeof(uint32_t),
			WHO_MAX * 2);
	if (r == 0)
		r = intern_new(&records->libraries, LIBRARIES_BYTES_MAX);
	if (r < 0) {
		records_free(records);
		return r;
	}
	*ret = records;
	return 0;
}

void records_free(struct records *records)
{
	if (!records)
		return;
	free(records->sums);
	array_index_done(&records->numbers);
	map_free(records->who_numbers);
	intern_free(records->libraries);
	for (size_t i = 0; i < records->who_count; i++)
		container_unref(records->who[i].container);
	free(records->who);
	free(records);
}

static int reserve_who(struct records *records)
{
	return array_grow(records->who, records->who_capacity, records->who_count + 1, 16);
}

static int64_t number_of(struct records *records, const struct record_who *who, size_t max)
{
	struct who_key key = {.pid = (uint64_t)who->pid, .start_ticks = who->start_ticks};
	uint32_t *number;
	int r = reserve_who(records);

	if (r < 0)
		return r;
	/* Bytes behind the NUL don't count. */
	memcpy(key.process, who->process, strnlen(who->process, sizeof(key.process)));
	memcpy(key.thread, who->thread, strnlen(who->thread, sizeof(key.thread)));
	if (records->who_count >= max && !map_get(records->who_numbers, &key))
		return -ENOSPC;
	r = map_put(records->who_numbers, &key, (void **)&number);
	if (r < 0)
		return r;
	if (r == 1) {
		*number = (uint32_t)records->who_count++;
		records->who[*number] = *who;
		container_ref(who->container);
	}
	if (who->netns_id)
		records->who[*number].netns_id = who->netns_id;
	if (who->ns_pid)
		records->who[*number].ns_pid = who->ns_pid;
	owner_see_container(&records->who[*number].container, who->container);
	return *number;
}

static int64_t number_of_libraries(struct records *records,
				   const struct record_libraries *libraries)
{
	const char *bits = libraries->bytes ? (const char *)libraries->bits : "";
	int64_t number = intern_add(records->libraries, bits, libraries->bytes);

	return number < LIBRARIES_MAX ? number : -ENOSPC;
}

static int reserve_sum(struct records *records)
{
	return array_grow(records->sums, records->capacity, records->count + 1, 16);
}

int records_reserve(struct records *records, size_t more)
{
	if (!more || records->count >= records->max)
		return 0;
	if (more > records->max - records->count)
		more = records->max - records->count;
	int r = array_index_reserve(&records->numbers, records->sums, more);
	return r < 0 ? r : array_grow(records->sums, records->capacity, records->count + more, 16);
}

static int64_t append_sum(struct records *records, const struct record_key *key, size_t max)
{
	int r = records->count < max ? reserve_sum(records) : -ENOSPC;

	if (r == 0)
		r = array_index_reserve(&records->numbers, records->sums, 1);
	if (r < 0)
		return r;
	records->sums[records->count] = (struct record_sum){.key = *key, .first_ns = UINT64_MAX};
	array_index_add(&records->numbers, records->sums, (uint32_t)records->count);
	return (int64_t)records->count++;
}

/* Adds a record, with bounds of `share` times the maximum. */
static int add_to_sum(struct records *records, const struct record *record, size_t share)
{
	int64_t number = number_of(records, record->who, WHO_MAX * share);
	int64_t libraries = number_of_libraries(records, &record->libraries);
	struct record_key key = record->key;

	if (number < 0 || libraries < 0)
		return (int)(number < 0 ? number : libraries);
	key.who = (uint32_t)number;
	key.libraries = (uint16_t)libraries;
	int64_t at = array_index_find(&records->numbers, records->sums, &key);
	if (at < 0)
		at = append_sum(records, &key, records->max * share);
	if (at < 0)
		return (int)at;
	struct record_sum *sum = &records->sums[at];
	sum->weight += record->weight;
	if (record->first_ns < sum->first_ns)
		sum->first_ns = record->first_ns;
	return 0;
}

static struct record record_of(const struct records *records, const struct record_sum *sum)
{
	struct record record = {
		.key = sum->key,
		.weight = sum->weight,
		.first_ns = sum->first_ns,
		.who = &records->who[sum->key.who],
	};

	record.libraries.bits = (const uint8_t *)intern_get(records->libraries, sum->key.libraries,
							    &record.libraries.bytes);
	return record;
}

bool record_libraries_have(const struct record_libraries *libraries, size_t frame)
{
	return frame / 8 < libraries->bytes && libraries->bits[frame / 8] & 1u << frame % 8;
}

void frame_bits_add(struct frame_bits *bits, bool set)
{
	size_t frame = bits->frames++;

	if (!set)
		return;
	bits->bits[frame / 8] |= (uint8_t)(1u << frame % 8);
	bits->bytes = frame / 8 + 1;
}

int records_add(struct records *records, const struct record *record)
{
	return add_to_sum(records, record, 1);
}

int records_merge(struct records *into, const struct records *from, const uint32_t *numbers)
{
	int r = into->count ? 0 : records_reserve(into, from->count);

	for (size_t i = 0; r == 0 && i < from->count; i++) {
		struct record record = record_of(from, &from->sums[i]);

		record.key.node = numbers[record.key.node];
		if (record.key.node)
			r = add_to_sum(into, &record, 2);
	}
	return r;
}

static int compare_u32(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

static int compare_keys(const void *a, const void *b)
{
	const struct record_key *left = a, *right = b; /* the first member of struct record */
	int r = compare_u32(left->who, right->who);

	if (!r)
		r = compare_u32(left->node, right->node);
	if (!r)
		r = compare_u32(left->libraries, right->libraries);
	if (!r)
		r = compare_u32(left->tid, right->tid);
	return r ? r : compare_u32(left->cpu, right->cpu);
}

int64_t records_list(const struct records *records, struct record **ret)
{
	struct record *list = calloc(records->count + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < records->count; i++)
		list[i] = record_of(records, &records->sums[i]);
	qsort(list, records->count, sizeof(*list), compare_keys);
	*ret = list;
	return (int64_t)records->count;
}
