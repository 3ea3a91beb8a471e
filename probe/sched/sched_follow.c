// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "sched/sched_state.h"

/* A follower has no events of its own: a slow one misses those that left the log. */
struct sched_follower {
	struct sched *sched;
	uint64_t next;
	uint64_t generation; /* of runqslower, when it began to follow */
	void (*wake)(void *arg);
	void *arg;
};

static bool is_followed(const struct sched *sched)
{
	return sched->on & sched->configured & 1u << SCHED_RUNQSLOWER;
}

int sched_follow(struct sched *sched, void (*wake)(void *arg), void *arg,
		 struct sched_follower **ret)
{
	int place = 0;

	if (!is_followed(sched))
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
		.next = sched->log->next,
		.generation = sched->probes[SCHED_RUNQSLOWER].generation,
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
	const struct slow_log *log = sched->log;
	uint64_t first = slow_log_first(log);

	*missed = follower->next < first ? first - follower->next : 0;
	follower->next += *missed;
	if (follower->next < log->next) {
		*entry = *slow_log_get(log, follower->next++);
		return 1;
	}
	bool same = follower->generation == sched->probes[SCHED_RUNQSLOWER].generation;
	return is_followed(sched) && same ? 0 : -ENOENT;
}

void sched_wake_followers(struct sched *sched)
{
	for (int i = 0; i < SCHED_FOLLOWERS_MAX; i++) {
		if (sched->followers[i])
			sched->followers[i]->wake(sched->followers[i]->arg);
	}
}
