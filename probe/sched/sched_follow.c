// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "sched/sched_state.h"

/* A follower has no events of its own: a slow one misses those that left the log. */
struct sched_follower {
	struct sched *sched;
	enum sched_probe probe;
	uint64_t next;
	uint64_t generation; /* of the probe, when it began to follow */
	void (*wake)(void *arg);
	void *arg;
};

static bool can_follow(const struct sched *sched, enum sched_probe probe)
{
	return sched_probes_of(SCHED_EVENTS) & sched->on & sched->configured & 1u << probe;
}

int sched_follow(struct sched *sched, enum sched_probe probe, void (*wake)(void *arg), void *arg,
		 struct sched_follower **ret)
{
	int place = 0;

	if (!can_follow(sched, probe))
		return -ENOENT;
	while (place < SCHED_FOLLOWERS_MAX && sched->followers[place])
		place++;
	if (place == SCHED_FOLLOWERS_MAX)
		return -EBUSY;
	struct sched_follower *follower = malloc(sizeof(*follower));
	if (!follower)
		return -ENOMEM;
	*follower = (struct sched_follower){
		.sched = sched,
		.probe = probe,
		.next = sched_next_event(sched, probe),
		.generation = sched->probes[probe].generation,
		.wake = wake,
		.arg = arg,
	};
	sched->followers[place] = follower;
	*ret = follower;
	return 0;
}

void sched_unfollow(struct sched_follower *follower)
{
	struct sched *sched = follower->sched;

	for (int i = 0; i < SCHED_FOLLOWERS_MAX; i++) {
		if (sched->followers[i] == follower)
			sched->followers[i] = NULL;
	}
	free(follower);
}

int sched_follower_next(struct sched_follower *follower, struct slow_entry *entry, uint64_t *missed)
{
	const struct sched *sched = follower->sched;
	const struct slow_log *log = sched->probes[follower->probe].log;
	uint64_t first = slow_log_first(log);

	*missed = follower->next < first ? first - follower->next : 0;
	follower->next += *missed;
	if (follower->next < log->next) {
		*entry = *slow_log_get(log, follower->next++);
		return 1;
	}
	bool same = follower->generation == sched->probes[follower->probe].generation;
	return can_follow(sched, follower->probe) && same ? 0 : -ENOENT;
}

void sched_wake_followers(struct sched *sched)
{
	for (int i = 0; i < SCHED_FOLLOWERS_MAX; i++) {
		if (sched->followers[i])
			sched->followers[i]->wake(sched->followers[i]->arg);
	}
}
