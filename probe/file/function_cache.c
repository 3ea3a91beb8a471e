// SPDX-License-Identifier: GPL-2.0-or-later
#include "file/function_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"

#define NAMES_MAX (64u * 1024 * 1024)

/* A range that is known, or is to be added. */
struct arrival {
	uint64_t place; /* a file offset in the range, to sort by */
	struct cached_function range;
	const char *name; /* NULL: none */
};

void function_cache_done(struct function_cache *ranges)
{
	free(ranges->each);
	buf_done(&ranges->names);
	*ranges = (struct function_cache){0};
}

size_t function_cache_bytes(const struct function_cache *ranges)
{
	return ranges->capacity * sizeof(*ranges->each) + ranges->names.capacity;
}

const struct cached_function *function_cache_find(const struct function_cache *ranges,
						  uint64_t offset)
{
	size_t at = PARTITION_POINT(i, ranges->count, ranges->each[i].to <= offset);

	return at < ranges->count && ranges->each[at].from <= offset ? &ranges->each[at] : NULL;
}

const char *function_cache_name(const struct function_cache *ranges,
				const struct cached_function *range)
{
	return range->name == NATIVE_NO_NAME ? NULL : ranges->names.data + range->name;
}

static int by_place(const void *a, const void *b)
{
	const struct arrival *left = a, *right = b;

	return left->place < right->place ? -1 : left->place > right->place;
}

static const char *text_of(const struct buf *names, uint32_t name)
{
	return name == NATIVE_NO_NAME ? NULL : names->data + name;
}

/* Returns the old ranges and the new ones together, sorted. */
static struct arrival *gather_ranges(const struct function_cache *ranges,
				     const struct native_function *functions, size_t count,
				     const struct buf *names, size_t *total)
{
	struct arrival *arrivals = calloc(ranges->count + count + 1, sizeof(*arrivals));
	size_t n = 0;

	for (size_t i = 0; arrivals && i < ranges->count; i++) {
		const struct cached_function *range = &ranges->each[i];

		arrivals[n++] =
			(struct arrival){range->from, *range, function_cache_name(ranges, range)};
	}
	for (size_t i = 0; arrivals && i < count; i++) {
		const struct native_function *function = &functions[i];

		if (function->from == function->to)
			continue;
		arrivals[n++] = (struct arrival){
			.place = function->offset,
			.range = {.from = function->from,
				  .to = function->to,
				  .address = function->address},
			.name = text_of(names, function->name),
		};
	}
	if (arrivals)
		qsort(arrivals, n, sizeof(*arrivals), by_place);
	*total = n;
	return arrivals;
}

/* Appends a range; `each` is to->each, which has room. */
static int put_range(struct function_cache *to, struct cached_function *each,
		     const struct arrival *arrival)
{
	struct cached_function *range = each + to->count;
	struct cached_function *before = to->count ? range - 1 : NULL;

	if (before && arrival->place < before->to)
		return 0; /* the range before holds it */
	*range = arrival->range;
	range->name = NATIVE_NO_NAME;
	if (before && range->from < before->to)
		range->from = before->to;
	to->count++;
	if (!arrival->name)
		return 0;
	const char *same = before ? function_cache_name(to, before) : NULL;
	if (same && strcmp(same, arrival->name) == 0) {
		range->name = before->name;
		return 0;
	}
	range->name = (uint32_t)to->names.len;
	buf_add(&to->names, arrival->name, strlen(arrival->name) + 1);
	return buf_error(&to->names);
}

/* Gives back reserved memory that isn't used, as ranges are kept for long. */
static void fit_memory(struct function_cache *ranges)
{
	struct cached_function *each = reallocarray(ranges->each, ranges->count + 1, sizeof(*each));
	char *names = ranges->names.len ? realloc(ranges->names.data, ranges->names.len) : NULL;

	if (each) {
		ranges->each = each;
		ranges->capacity = ranges->count + 1;
	}
	if (names) {
		ranges->names.data = names;
		ranges->names.capacity = ranges->names.len;
	}
}

int function_cache_add(struct function_cache *ranges, const struct native_function *functions,
		       size_t count, const struct buf *names)
{
	struct function_cache grown = {.names = BUF_INIT(NAMES_MAX)};
	size_t total;
	_cleanup_free_ struct arrival *arrivals =
		gather_ranges(ranges, functions, count, names, &total);

	if (!arrivals)
		return -ENOMEM;
	struct cached_function *each = calloc(total + 1, sizeof(*each));
	if (!each)
		return -ENOMEM;
	grown.each = each;
	grown.capacity = total + 1;
	int r = 0;
	for (size_t i = 0; r == 0 && i < total; i++)
		r = put_range(&grown, each, &arrivals[i]);
	if (r < 0) {
		function_cache_done(&grown);
		return r;
	}
	fit_memory(&grown);
	function_cache_done(ranges);
	*ranges = grown;
	return 0;
}
