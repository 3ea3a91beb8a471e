// SPDX-License-Identifier: GPL-2.0-or-later
#include "select/containers_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define GROUPS_MAX     8192
#define CONTAINERS_MAX 4096

int containers_new(struct containers **ret, struct loop *loop, struct worker *worker)
{
	struct containers *containers = calloc(1, sizeof(*containers));

	if (!containers)
		return -ENOMEM;
	containers->loop = loop;
	containers->worker = worker;
	containers->next = (struct loop_timer){
		.expired = containers_ask_next, .arg = containers, .name = "containers"};
	int r = containers_set_root(containers, "/");
	if (r == 0)
		r = map_new(&containers->groups, sizeof(struct cgroup_key),
			    sizeof(struct known_group), GROUPS_MAX);
	if (r == 0)
		r = map_new(&containers->known, sizeof(struct place_key),
			    sizeof(struct known_container *), CONTAINERS_MAX);
	if (r < 0) {
		containers_free(containers);
		return r;
	}
	*ret = containers;
	return 0;
}

void containers_free(struct containers *containers)
{
	const struct cgroup_key *key;
	struct known_group *known;

	if (!containers)
		return;
	loop_timer_cancel(containers->loop, &containers->next);
	if (containers->groups) {
		map_each (containers->groups, pos, key, known)
			group_unref(known->group);
	}
	map_free(containers->groups);
	map_free(containers->known);
	free(containers->root);
	free(containers);
}

int containers_set_root(struct containers *containers, const char *root)
{
	char *copy = strdup(root);

	if (!copy)
		return -ENOMEM;
	free(containers->root);
	containers->root = copy;
	return 0;
}

void containers_on(struct containers *containers, const struct containers_events *events)
{
	containers->events = *events;
}

struct known_cgroup *group_ref(struct known_cgroup *group)
{
	if (group)
		group->refs++;
	return group;
}

void known_container_unref(struct known_container *known)
{
	if (--known->groups)
		return;
	map_del(known->containers->known, &known->key);
	container_unref(known->container);
	free(known);
}

void group_unref(struct known_cgroup *group)
{
	struct known_container *in = group ? group->in : NULL;

	if (!group || --group->refs)
		return;
	if (in && in->recent == group)
		in->recent = NULL;
	if (in)
		known_container_unref(in);
	free(group);
}

struct container *group_container(const struct known_cgroup *group)
{
	return group && group->in ? group->in->container : NULL;
}

bool group_is_named(const struct known_cgroup *group)
{
	return !group || !group->in || group->in->named;
}

static void drop_key(struct known_group *known)
{
	known->group->keys--;
	group_unref(known->group);
}

/* Evicts the least recently used group that nobody holds. */
static bool evict_group(struct containers *containers, bool in_container)
{
	const struct cgroup_key *key, *oldest = NULL;
	struct known_group *known;
	uint64_t used = UINT64_MAX;

	map_each (containers->groups, pos, key, known) {
		if (known->group->refs == known->group->keys && known->used < used &&
		    (!in_container || known->group->in)) {
			used = known->used;
			oldest = key;
		}
	}
	if (!oldest)
		return false;
	struct cgroup_key gone = *oldest;
	known = map_get(containers->groups, &gone);
	drop_key(known);
	map_del(containers->groups, &gone);
	if (containers->events.evicted)
		containers->events.evicted(containers->events.arg, &gone);
	return true;
}

static void make_key(struct place_key *key, const struct container_place *place)
{
	memset(key, 0, sizeof(*key));
	memcpy(key->id, place->id, strnlen(place->id, sizeof(key->id)));
	memcpy(key->pod_uid, place->pod_uid, strnlen(place->pod_uid, sizeof(key->pod_uid)));
	memcpy(key->outer, place->outer, strnlen(place->outer, sizeof(key->outer)));
	key->runtime = (char)place->runtime;
	key->user = place->user;
}

static struct known_container *container_of_place(struct containers *containers,
						  const struct container_place *place)
{
	struct known_container **slot, *made = calloc(1, sizeof(*made));
	struct place_key key;

	make_key(&key, place);
	slot = map_get(containers->known, &key);
	if (slot || !made) {
		free(made);
		return slot ? *slot : NULL;
	}
	made->containers = containers;
	made->key = key;
	int r = container_new(&made->container, place, NULL, NULL, NULL, NULL);
	while (r == 0 && map_count(containers->known) >= CONTAINERS_MAX &&
	       evict_group(containers, true))
		;
	if (r < 0 || map_put(containers->known, &key, (void **)&slot) < 0) {
		container_unref(made->container);
		free(made);
		return NULL;
	}
	*slot = made;
	return made;
}

struct known_cgroup *containers_place(struct containers *containers,
				      const struct container_place *place, const char *path)
{
	struct known_container *in = place->id[0] ? container_of_place(containers, place) : NULL;
	size_t bytes = strlen(path) + 1;

	if (in && in->recent && strcmp(in->recent->path, path) == 0)
		return group_ref(in->recent);
	struct known_cgroup *group = in || !place->id[0] ? malloc(sizeof(*group) + bytes) : NULL;
	if (!group) {
		containers->stats.refused++;
		if (in && in->groups == 0) { /* it was made for this group */
			in->groups = 1;
			known_container_unref(in);
		}
		return NULL;
	}
	*group = (struct known_cgroup){.refs = 1, .in = in};
	memcpy(group->path, path, bytes);
	if (in) {
		in->groups++;
		in->recent = group;
	}
	return group;
}

void containers_learn(struct containers *containers, const struct cgroup_key *key,
		      const struct container_place *place, const char *path)
{
	struct known_group *known;
	struct known_cgroup *group;

	if (!map_get(containers->groups, key) && map_count(containers->groups) >= GROUPS_MAX)
		evict_group(containers, false);
	group = containers_place(containers, place, path);
	if (!group)
		return;
	int r = map_put(containers->groups, key, (void **)&known);
	if (r < 0) {
		containers->stats.refused++;
		group_unref(group);
		return;
	}
	if (r == 0)
		drop_key(known);
	known->group = group;
	group->keys++;
	known->used = ++containers->clock;
}

struct known_cgroup *containers_find(struct containers *containers, const struct cgroup_key *key)
{
	struct known_group *known = map_get(containers->groups, key);

	if (!known)
		return NULL;
	known->used = ++containers->clock;
	return known->group;
}

void containers_stats(const struct containers *containers, struct containers_stats *stats)
{
	*stats = containers->stats;
	stats->containers = map_count(containers->known);
	stats->groups = map_count(containers->groups);
}
