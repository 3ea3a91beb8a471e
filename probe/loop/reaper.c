// SPDX-License-Identifier: GPL-2.0-or-later
#include "loop/reaper.h"

#include <pthread.h>
#include <sys/wait.h>

/* Leaves room for children that run already while REAPER_LEFT_MAX is reached. */
#define CHILDREN_MAX (4 * REAPER_LEFT_MAX)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pid_t children[CHILDREN_MAX]; /* 0: a free place */

void reaper_leave(pid_t child)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < CHILDREN_MAX; i++) {
		if (children[i])
			continue;
		children[i] = child;
		break;
	}
	pthread_mutex_unlock(&lock);
}

unsigned reaper_bury(void)
{
	unsigned left = 0;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < CHILDREN_MAX; i++) {
		if (children[i] && waitpid(children[i], NULL, WNOHANG) != 0)
			children[i] = 0;
		left += children[i] != 0;
	}
	pthread_mutex_unlock(&lock);
	return left;
}

bool reaper_has_room(void)
{
	return reaper_bury() < REAPER_LEFT_MAX;
}
