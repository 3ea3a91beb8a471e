// SPDX-License-Identifier: GPL-2.0-or-later
#include "costs/keyed_counts.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define AT_ONCE 512 /* entries that are read by one system call */

static int compare_keys(const void *a, const void *b)
{
	const struct keyed_count *left = a, *right = b;

	return left->key < right->key ? -1 : left->key > right->key;
}

static int compare_counts(const void *a, const void *b)
{
	const struct keyed_count *left = a, *right = b;

	if (left->count != right->count)
		return left->count > right->count ? -1 : 1;
	return compare_keys(a, b);
}

int keyed_counts_read(struct keyed_counts *counts, int fd)
{
	_cleanup_free_ uint64_t *keys = calloc(AT_ONCE, sizeof(*keys));
	_cleanup_free_ uint64_t *values = calloc(AT_ONCE, sizeof(*values));
	uint32_t position, *last = NULL;
	int r = 0;

	if (!keys || !values)
		return -ENOMEM;
	while (r == 0) {
		uint32_t count = AT_ONCE;

		r = bpf_map_lookup_batch(fd, last, &position, keys, values, &count, NULL);
		if (r < 0 && r != -ENOENT)
			return r;
		struct keyed_count *grown =
			reallocarray(counts->all, counts->count + count + 1, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		counts->all = grown;
		for (uint32_t i = 0; i < count; i++)
			grown[counts->count++] =
				(struct keyed_count){.key = keys[i], .count = values[i]};
		last = &position;
	}
	qsort(counts->all, counts->count, sizeof(*counts->all), compare_keys);
	return 0; /* -ENOENT: that was all */
}

void keyed_counts_done(struct keyed_counts *counts)
{
	free(counts->all);
	*counts = (struct keyed_counts){0};
}

int keyed_counts_copy(struct keyed_counts *to, const struct keyed_counts *from)
{
	struct keyed_count *copy;

	if (!from->all)
		return 0;
	copy = calloc(from->count + 1, sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	memcpy(copy, from->all, from->count * sizeof(*copy));
	free(to->all);
	*to = (struct keyed_counts){copy, from->count};
	return 0;
}

void keyed_counts_subtract(struct keyed_counts *from, const struct keyed_counts *before)
{
	for (size_t i = 0; i < from->count && before->all; i++) {
		struct keyed_count *now = &from->all[i];
		const struct keyed_count *old =
			bsearch(now, before->all, before->count, sizeof(*now), compare_keys);

		if (old)
			now->count -= old->count < now->count ? old->count : now->count;
	}
}

struct keyed_count *keyed_counts_largest(const struct keyed_counts *counts, size_t *count)
{
	struct keyed_count *largest = calloc(counts->count + 1, sizeof(*largest));

	*count = 0;
	if (!largest)
		return NULL;
	for (size_t i = 0; i < counts->count; i++) {
		if (counts->all[i].count)
			largest[(*count)++] = counts->all[i];
	}
	qsort(largest, *count, sizeof(*largest), compare_counts);
	return largest;
}
