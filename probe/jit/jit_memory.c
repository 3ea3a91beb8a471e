// SPDX-License-Identifier: GPL-2.0-or-later
/* loop/shares.h counts for the loop's thread alone, and takes nothing back. */
#include "jit/jit_memory.h"

#include <pthread.h>

#define USERS_MAX 256 /* who have taken memory */

struct jit_user {
	uint64_t whose;
	size_t taken; /* 0: a free place */
};

/* Static, as what was read may be held for longer than the process that told it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct jit_user users[USERS_MAX];
static size_t taken_of_all;

/* Returns the user's place, or a free one; NULL: there is none. */
static struct jit_user *find_user(uint64_t whose)
{
	struct jit_user *free_one = NULL;

	for (size_t i = 0; i < USERS_MAX; i++) {
		if (users[i].taken && users[i].whose == whose)
			return &users[i];
		if (!users[i].taken && !free_one)
			free_one = &users[i];
	}
	return free_one;
}

bool jit_memory_take(uint64_t whose, size_t bytes)
{
	pthread_mutex_lock(&lock);
	struct jit_user *user = find_user(whose);
	bool has_room = user && bytes <= JIT_SHARE_MAX - user->taken &&
			bytes <= JIT_MEMORY_MAX - taken_of_all;

	if (has_room) {
		user->whose = whose;
		user->taken += bytes;
		taken_of_all += bytes;
	}
	pthread_mutex_unlock(&lock);
	return has_room;
}

void jit_memory_give(uint64_t whose, size_t bytes)
{
	pthread_mutex_lock(&lock);
	if (bytes) {
		find_user(whose)->taken -= bytes;
		taken_of_all -= bytes;
	}
	pthread_mutex_unlock(&lock);
}

size_t jit_memory_taken(void)
{
	pthread_mutex_lock(&lock);
	size_t taken = taken_of_all;
	pthread_mutex_unlock(&lock);
	return taken;
}
