// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/mm_epochs.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/map.h"

struct mm_epochs {
	struct map *times; /* pid -> ns */
	uint64_t refused;
};

int mm_epochs_new(struct mm_epochs **ret, size_t max)
{
	struct mm_epochs *epochs = calloc(1, sizeof(*epochs));

	if (!epochs)
		return -ENOMEM;
	if (map_new(&epochs->times, sizeof(uint32_t), sizeof(uint64_t), max) < 0) {
		free(epochs);
		return -ENOMEM;
	}
	*ret = epochs;
	return 0;
}

void mm_epochs_free(struct mm_epochs *epochs)
{
	if (!epochs)
		return;
	map_free(epochs->times);
	free(epochs);
}

int mm_epochs_note(struct mm_epochs *epochs, uint32_t pid, uint64_t time_ns)
{
	uint64_t *known;
	int r = map_put(epochs->times, &pid, (void **)&known);

	if (r < 0) {
		epochs->refused++;
		return r;
	}
	if (time_ns > *known)
		*known = time_ns;
	return 0;
}

uint64_t mm_epochs_get(const struct mm_epochs *epochs, uint32_t pid)
{
	const uint64_t *known = map_get(epochs->times, &pid);

	return known ? *known : 0;
}

/* Finds an entry that may go, from *at on. Returns false if there is none. */
static bool find_old(const struct mm_epochs *epochs, uint64_t until_ns, size_t *at, uint32_t *pid)
{
	const void *key;
	void *value;

	while (map_next(epochs->times, at, &key, &value)) {
		if (*(uint64_t *)value > until_ns)
			continue;
		*pid = *(const uint32_t *)key;
		return true;
	}
	return false;
}

void mm_epochs_forget(struct mm_epochs *epochs, uint64_t until_ns)
{
	_cleanup_free_ uint32_t *old = calloc(map_count(epochs->times) + 1, sizeof(*old));
	size_t count = 0, at = 0;

	/* Without memory the entries stay until the next time. */
	while (old && find_old(epochs, until_ns, &at, &old[count]))
		count++;
	for (size_t i = 0; i < count; i++)
		map_del(epochs->times, &old[i]);
}

uint64_t mm_epochs_refused(const struct mm_epochs *epochs)
{
	return epochs->refused;
}
