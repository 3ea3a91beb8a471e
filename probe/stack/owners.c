// SPDX-License-Identifier: GPL-2.0-or-later
#include "stack/owners.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/map.h"
#include "container/container.h"

struct key {
	uint64_t pid, which;
};

struct owners {
	struct owner **each;
	size_t count, capacity;
	struct map *numbers; /* struct key -> uint32_t */
	struct map *pids;    /* uint64_t pid -> uint32_t number */
	bool matter;
};

int owners_new(struct owners **ret, size_t max)
{
	struct owners *owners = calloc(1, sizeof(*owners));

	if (!owners)
		return -ENOMEM;
	int r = map_new(&owners->numbers, sizeof(struct key), sizeof(uint32_t), max);
	if (r == 0)
		r = map_new(&owners->pids, sizeof(uint64_t), sizeof(uint32_t), max);
	if (r < 0) {
		owners_free(owners);
		return r;
	}
	*ret = owners;
	return 0;
}

void owners_free(struct owners *owners)
{
	if (!owners)
		return;
	for (size_t i = 0; i < owners->count; i++) {
		container_unref(owners->each[i]->container);
		free(owners->each[i]);
	}
	free(owners->each);
	map_free(owners->numbers);
	map_free(owners->pids);
	free(owners);
}

static unsigned names_known(const struct container *container)
{
	return (container->name[0] != '\0') + (container->pod[0] != '\0') +
	       (container->pod_namespace[0] != '\0');
}

void owner_see_container(struct container **kept, struct container *seen)
{
	struct container *before = *kept;

	if (!seen || seen == before)
		return;
	/* If the process moved into another container, the last one counts. */
	if (before && strcmp(before->place.id, seen->place.id) == 0 &&
	    names_known(before) > names_known(seen))
		return;
	*kept = container_ref(seen);
	container_unref(before);
}

static void learn_owner(struct owners *owners, struct owner *owner, const struct owner *seen)
{
	if (seen->ns_pid && !owner->ns_pid)
		owner->ns_pid = seen->ns_pid;
	else if (seen->ns_pid && seen->ns_pid != owner->ns_pid)
		owner->ns_pid = OWNER_SEVERAL;
	owner_see_container(&owner->container, seen->container);
	owners->matter |= owner->container != NULL;
}

static int reserve_owner(struct owners *owners)
{
	return array_grow(owners->each, owners->capacity, owners->count + 1, 16);
}

static int64_t make_owner(struct owners *owners, const struct key *key)
{
	_cleanup_free_ struct owner *made = calloc(1, sizeof(*made));
	uint32_t *number, *of_pid;
	int r = made ? reserve_owner(owners) : -ENOMEM, is_new = 1;

	if (r == 0)
		r = is_new = map_put(owners->pids, &key->pid, (void **)&of_pid);
	if (r >= 0)
		r = map_put(owners->numbers, key, (void **)&number);
	if (r < 0)
		return r;
	owners->matter |= !is_new;
	*made = (struct owner){.pid = (pid_t)key->pid, .which = key->which};
	owners->each[owners->count++] = TAKE_PTR(made);
	*number = *of_pid = (uint32_t)owners->count;
	return *number;
}

int64_t owners_add(struct owners *owners, const struct owner *owner)
{
	struct key key = {(uint64_t)owner->pid, owner->which};
	const uint32_t *known = map_get(owners->numbers, &key);
	int64_t number = known ? *known : make_owner(owners, &key);

	if (number > 0)
		learn_owner(owners, owners->each[number - 1], owner);
	return number;
}

const struct owner *owners_get(const struct owners *owners, uint32_t number)
{
	return owners->each[number - 1];
}

bool owners_matter(const struct owners *owners)
{
	return owners->matter;
}
