// SPDX-License-Identifier: GPL-2.0-or-later
/* The addresses that a round asks for and their names, with a bound of memory for all maps. */
#include <stdlib.h>

#include "symbol/perfmap_state.h"

#define NAMES_MAX     (8u << 20)  /* bytes; of a process, in a window */
#define MEMORY_MAX    (32u << 20) /* bytes; of all maps, while a window is named */
#define QUESTIONS_MAX 65536	  /* of a process, in a window */

/* Bytes taken of MEMORY_MAX. Static, as a job that hangs may keep some for longer than the registry
 * lives. */
static atomic_size_t memory;

/* Takes `bytes`, or what is left; returns how many were taken. */
static size_t take_most(size_t bytes)
{
	size_t before = atomic_load(&memory), most;

	do {
		most = before < MEMORY_MAX ? MEMORY_MAX - before : 0;
		most = bytes < most ? bytes : most;
	} while (!atomic_compare_exchange_weak(&memory, &before, before + most));
	return most;
}

static void give_memory(size_t bytes)
{
	atomic_fetch_sub(&memory, bytes);
}

static bool take_memory(size_t bytes)
{
	size_t most = take_most(bytes);

	if (most < bytes)
		give_memory(most);
	return most == bytes;
}

void answers_done(struct answers *answers)
{
	give_memory(answers->names.capacity + answers->capacity * sizeof(*answers->questions));
	free(answers->questions);
	buf_done(&answers->names);
	*answers = (struct answers){0};
}

bool answers_ask(struct answers *answers, uint64_t address)
{
	if (answers->count == QUESTIONS_MAX)
		return false;
	if (answers->count == answers->capacity) {
		size_t more = answers->capacity ? answers->capacity : 64;
		struct perfmap_question *grown;

		if (!take_memory(more * sizeof(*grown)))
			return false;
		grown = reallocarray(answers->questions, answers->capacity + more, sizeof(*grown));
		if (!grown) {
			give_memory(more * sizeof(*grown));
			return false;
		}
		answers->questions = grown;
		answers->capacity += more;
	}
	answers->questions[answers->count++] = (struct perfmap_question){.address = address};
	return true;
}

static int by_address(const void *a, const void *b)
{
	const struct perfmap_question *left = a, *right = b;

	return left->address < right->address ? -1 : left->address > right->address;
}

const char *answers_find(const struct answers *answers, uint64_t address, size_t *len)
{
	struct perfmap_question wanted = {.address = address};
	const struct perfmap_question *found =
		answers->count ? bsearch(&wanted, answers->questions, answers->count,
					 sizeof(wanted), by_address)
			       : NULL;

	if (!found || !found->len)
		return NULL;
	*len = found->len;
	return answers->names.data + found->name;
}

int answers_read(struct answers *answers, int fd, struct perfmap_lookup *lookup)
{
	size_t room = take_most(NAMES_MAX);

	if (answers->count)
		qsort(answers->questions, answers->count, sizeof(*answers->questions), by_address);
	lookup->questions = answers->questions;
	lookup->count = answers->count;
	lookup->names = (struct buf)BUF_INIT(room);
	int r = perfmap_read(fd, lookup);
	if (lookup->names.capacity > room) /* as a buf grows by doubling */
		atomic_fetch_add(&memory, lookup->names.capacity - room);
	else
		give_memory(room - lookup->names.capacity);
	answers->names = lookup->names;
	return r;
}
