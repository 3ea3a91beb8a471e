// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lookup of the code that was at an address, by the agent's times: for a VM of which nothing else
 * is known. The agent tells of loading and unloading some moments late. So code may have been there
 * from a moment before the agent told of loading it, until the agent told of unloading it. If two
 * codes are possible, there is no answer.
 */
#include <errno.h>
#include <string.h>

#include "loop/loop.h"
#include "java/files/jvmfile_state.h"

#define LOOKED_AT_MAX 64

struct asked {
	const struct jvmfile *file;
	const struct jvmfile_hits *hits;
	uint64_t address, from_ns, until_ns;
};

static bool code_holds(const struct jvmfile_code *code, uint64_t address)
{
	return address >= code->from && address < code->to;
}

static uint64_t may_begin_ns(const struct jvmfile_code *code)
{
	if (code->flags & JAVA_CODE_BEFORE || code->loaded_ns < JVMFILE_MOMENT_NS)
		return 0;
	return code->loaded_ns - JVMFILE_MOMENT_NS;
}

/* Returns until when the code may have been there. The VM doesn't tell when a stub goes; but no
 * method lies over a stub, so the stub has gone when the first later method came, at `method_ns`.
 */
static uint64_t may_end_ns(const struct jvmfile_code *code, uint64_t method_ns)
{
	uint64_t end = code->unloaded_ns ? code->unloaded_ns : UINT64_MAX;

	if (code->kind == JAVA_STUB && method_ns > code->loaded_ns && method_ns < end)
		end = method_ns;
	return end;
}

/* Returns whether a stub lies in a larger stub that the VM made for several; the VM tells of both.
 */
static bool is_part_of(const struct jvmfile *file, const struct jvmfile_code *part,
		       const struct jvmfile_code *whole)
{
	return part->kind == JAVA_STUB && whole->kind == JAVA_STUB && part->from >= whole->from &&
	       part->to <= whole->to &&
	       (part->loaded_ns >= whole->loaded_ns || whole->loaded_ns <= file->generated_ns);
}

/* Finds the one code that was possible, and until when it was there; -ENOENT: none; -ESTALE: two.
 */
static int find_possible_code(const struct asked *asked, const struct jvmfile_code **ret,
			      uint64_t *end_ns)
{
	const struct jvmfile_code *found = NULL;
	uint64_t method_ns = UINT64_MAX; /* load time of the oldest method so far; all are newer */

	if (asked->hits->more)
		return -ESTALE;
	for (uint32_t i = 0; i < asked->hits->count; i++) {
		const struct jvmfile_code *code = &asked->file->codes[asked->hits->places[i]];
		uint64_t end = may_end_ns(code, method_ns);

		if (!code_holds(code, asked->address))
			continue;
		if (code->kind != JAVA_STUB && code->loaded_ns < method_ns)
			method_ns = code->loaded_ns;
		if (may_begin_ns(code) > asked->until_ns || end < asked->from_ns)
			continue;
		if (!found || is_part_of(asked->file, code, found)) {
			found = code;
			*end_ns = end;
		} else if (!is_part_of(asked->file, found, code)) {
			return -ESTALE;
		}
	}
	*ret = found;
	return found ? 0 : -ENOENT;
}

/* Returns whether the code was there at the begin, or all code that was there then was told of a
 * moment later. */
static bool is_certain(const struct asked *asked, const struct jvmfile_code *code)
{
	const struct jvmfile *file = asked->file;
	uint64_t told_ns =
		file->began_ns > file->generated_ns ? file->began_ns : file->generated_ns;

	return code->flags & JAVA_CODE_BEFORE || asked->from_ns >= code->loaded_ns ||
	       asked->from_ns >= told_ns + JVMFILE_MOMENT_NS;
}

static int look_for(struct jvmfile *file, struct jvmfile_answer *answer)
{
	struct jvmfile_hits hits = {.count = 0};
	struct asked asked = {file, &hits, answer->address, answer->from_ns, answer->until_ns};
	unsigned left = atomic_load(&file->steps_left);
	const struct jvmfile_code *code;

	if (!left)
		return -ENOBUFS;
	jvmfile_hits(file, answer->address, LOOKED_AT_MAX, &hits);
	atomic_store(&file->steps_left, hits.looked < left ? left - hits.looked : 0);
	int r = find_possible_code(&asked, &code, &answer->to_ns);
	if (r < 0)
		return r;
	if (code->kind == JAVA_LOST || !is_certain(&asked, code))
		return -ENOENT;
	answer->found = (struct jvmfile_found){.number = code->number};
	if (code->kind == JAVA_STUB)
		answer->found.kind = code->is_interpreter ? JVMFILE_INTERPRETER : JVMFILE_STUB;
	return 0;
}

static int find_at(struct jvmfile *file, uint64_t address, uint64_t from_ns, uint64_t until_ns,
		   struct jvmfile_found *ret)
{
	struct jvmfile_answer answer = {
		.address = address, .from_ns = from_ns, .until_ns = until_ns};

	if (until_ns > file->read_ns)
		return -EAGAIN;
	if (from_ns < file->began_ns || from_ns <= file->forgotten_ns ||
	    (file->ended_ns && until_ns > file->ended_ns + JVMFILE_MOMENT_NS))
		return -ENOENT;
	const struct jvmfile_answer *known = jvmfile_recall(file, address, from_ns, until_ns);
	if (!known) {
		int r = look_for(file, &answer);

		if (r < 0)
			return r;
		jvmfile_remember(file, &answer);
		known = &answer;
	}
	*ret = known->found;
	return 0;
}

void jvmfile_allow(struct jvmfile *file, uint32_t steps)
{
	atomic_store(&file->steps_left, steps);
}

int jvmfile_find(struct jvmfile *file, uint64_t address, uint64_t from_ns, uint64_t until_ns,
		 struct jvmfile_found *ret)
{
	int r = -ENOENT;

	if (pthread_rwlock_tryrdlock(&file->lock))
		return -EBUSY;
	if (file->fd >= 0 && !file->other_clock)
		r = find_at(file, address, from_ns, until_ns, ret);
	pthread_rwlock_unlock(&file->lock);
	return r;
}

static int find_number(const struct jvmfile *file, uint64_t address, uint32_t number,
		       struct jvmfile_code *ret)
{
	struct jvmfile_hits hits = {.count = 0};

	jvmfile_hits(file, address, JVMFILE_READ_MOST, &hits);
	for (uint32_t i = 0; i < hits.count; i++) {
		const struct jvmfile_code *code = &file->codes[hits.places[i]];

		if (code->number != number || code->kind == JAVA_LOST)
			continue;
		*ret = *code;
		return 0;
	}
	return -ENOENT;
}

int jvmfile_read_found(struct jvmfile *file, uint64_t address, uint32_t number,
		       struct jvmcode **ret)
{
	struct jvmfile_code code;
	int r = -ENOENT;

	if (pthread_mutex_trylock(&file->reads))
		return -EBUSY;
	if (file->fd >= 0) {
		pthread_rwlock_rdlock(&file->lock);
		r = find_number(file, address, number, &code);
		pthread_rwlock_unlock(&file->lock);
	}
	if (r == 0)
		r = jvmfile_make(file, &code, number, ret);
	pthread_mutex_unlock(&file->reads);
	return r;
}
