// SPDX-License-Identifier: GPL-2.0-or-later
#include "costs/cost_missed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kernel/map_batches.h"

static int compare_ends(const void *a, const void *b)
{
	const struct unseen_end *left = a, *right = b;

	return memcmp(&left->key, &right->key, sizeof(left->key));
}

static int add_ends(void *arg, const void *keys_, const void *values, size_t count)
{
	struct unseen_ends *unseen = arg;
	const struct cost_ended_key *keys = keys_;
	struct unseen_end *grown =
		reallocarray(unseen->all, unseen->count + count + 1, sizeof(*grown));

	(void)values;
	if (!grown)
		return -ENOMEM;
	unseen->all = grown;
	for (size_t i = 0; i < count; i++)
		grown[unseen->count++] = (struct unseen_end){.key = keys[i]};
	return 0;
}

int unseen_ends_read(struct unseen_ends *unseen, int fd)
{
	const struct map_batches batches = {fd, sizeof(struct cost_ended_key),
					    sizeof(struct cost_ended), add_ends, unseen};

	return fd < 0 ? 0 : map_batches_read(&batches);
}

void unseen_ends_done(struct unseen_ends *unseen)
{
	free(unseen->all);
	*unseen = (struct unseen_ends){0};
}

void unseen_ends_leave_out(struct unseen_ends *unseen, bool (*is_seen)(void *arg, uint64_t tgid),
			   void *arg)
{
	size_t kept = 0;

	for (size_t i = 0; i < unseen->count; i++) {
		if (!is_seen(arg, unseen->all[i].key.tgid))
			unseen->all[kept++] = unseen->all[i];
	}
	unseen->count = kept;
}

static const struct unseen_end *find_end(const struct unseen_ends *unseen,
					 const struct unseen_end *of)
{
	return unseen->count ? bsearch(of, unseen->all, unseen->count, sizeof(*of), compare_ends)
			     : NULL;
}

int unseen_ends_replace(struct unseen_ends *unseen, const struct unseen_ends *now, uint64_t now_ns,
			void (*missed)(void *arg, const struct cost_ended_key *key), void *arg)
{
	struct unseen_ends next = {calloc(now->count + 1, sizeof(*next.all)), 0};

	if (!next.all)
		return -ENOMEM;
	for (size_t i = 0; i < now->count; i++) {
		struct unseen_end *end = &next.all[next.count];
		const struct unseen_end *before = find_end(unseen, &now->all[i]);

		*end = (struct unseen_end){now->all[i].key, before ? before->since_ns : now_ns};
		if (now_ns - end->since_ns >= MISSED_AFTER_S * NS_PER_S)
			missed(arg, &end->key);
		else
			next.count++;
	}
	qsort(next.all, next.count, sizeof(*next.all), compare_ends);
	unseen_ends_done(unseen);
	*unseen = next;
	return 0;
}
