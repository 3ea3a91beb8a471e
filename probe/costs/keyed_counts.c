// SPDX-License-Identifier: GPL-2.0-or-later
#include "costs/keyed_counts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/map_batches.h"

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

static int add_counts(void *arg, const void *keys_, const void *values_, size_t count)
{
	struct keyed_counts *counts = arg;
	const uint64_t *keys = keys_, *values = values_;
	struct keyed_count *grown =
		reallocarray(counts->all, counts->count + count + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	counts->all = grown;
	for (size_t i = 0; i < count; i++)
		grown[counts->count++] = (struct keyed_count){.key = keys[i], .count = values[i]};
	return 0;
}

int keyed_counts_read(struct keyed_counts *counts, int fd)
{
	const struct map_batches batches = {fd, sizeof(uint64_t), sizeof(uint64_t), add_counts,
					    counts};
	int r = map_batches_read(&batches);

	if (r == 0)
		qsort(counts->all, counts->count, sizeof(*counts->all), compare_keys);
	return r;
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
