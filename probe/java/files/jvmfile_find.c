// SPDX-License-Identifier: GPL-2.0-only
/*
 * The code that an address was, by the times at which the agent told of it: for a VM of which
 * nothing else is known. It tells of what comes and of what goes some moments late, so code may
 * have been there from a moment before it was told until it was told that it had gone. Where that
 * leaves two, there is no answer.
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

static bool holds(const struct jvmfile_code *code, uint64_t address)
{
	return address >= code->from && address < code->to;
}

static uint64_t may_begin_ns(const struct jvmfile_code *code)
{
	if (code->flags & JAVA_CODE_BEFORE || code->loaded_ns < JVMFILE_MOMENT_NS)
		return 0;
	return code->loaded_ns - JVMFILE_MOMENT_NS;
}

/* The VM doesn't tell when a stub goes; but a method can't lie on one: the first that came after
 * it, at `method_ns`, tells. */
static uint64_t may_end_ns(const struct jvmfile_code *code, uint64_t method_ns)
{
	uint64_t end = code->unloaded_ns ? code->unloaded_ns : UINT64_MAX;

	if (code->kind == JAVA_STUB && method_ns > code->loaded_ns && method_ns < end)
		end = method_ns;
	return end;
}

/* Stubs lie in the one that the VM made for all of them; of both it tells the same. */
static bool is_part_of(const struct jvmfile *file, const struct jvmfile_code *part,
		       const struct jvmfile_code *whole)
{
	return part->kind == JAVA_STUB && whole->kind == JAVA_STUB && part->from >= whole->from &&
	       part->to <= whole->to &&
	       (part->loaded_ns >= whole->loaded_ns || whole->loaded_ns <= file->generated_ns);
}

/* The one that it was, and until when. -ENOENT, -ESTALE */
static int find(const struct asked *asked, const struct jvmfile_code **ret, uint64_t *end_ns)
{
	const struct jvmfile_code *found = NULL;
	uint64_t method_ns = UINT64_MAX; /* of those so far, which are newer, the first method's */

	if (asked->hits->more)
		return -ESTALE;
	for (uint32_t i = 0; i < asked->hits->count; i++) {
		const struct jvmfile_code *code = &asked->file->codes[asked->hits->places[i]];
		uint64_t end = may_end_ns(code, method_ns);

		if (!holds(code, asked->address))
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

/* Whether it was there at the begin, or all that was there then had been told a moment later. */
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
	int r = find(&asked, &code, &answer->to_ns);
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

	if (pthread_mutex_trylock(&file->lock))
		return -EBUSY;
	if (file->fd >= 0 && !file->other_clock)
		r = find_at(file, address, from_ns, until_ns, ret);
	pthread_mutex_unlock(&file->lock);
	return r;
}

static int read_number(struct jvmfile *file, uint64_t address, uint32_t number,
		       struct jvmcode **ret)
{
	struct jvmfile_hits hits = {.count = 0};

	jvmfile_hits(file, address, JVMFILE_READ_MOST, &hits);
	for (uint32_t i = 0; i < hits.count; i++) {
		const struct jvmfile_code *code = &file->codes[hits.places[i]];

		if (code->number == number && code->kind != JAVA_LOST)
			return jvmfile_make(file, code, number, ret);
	}
	return -ENOENT;
}

int jvmfile_read_found(struct jvmfile *file, uint64_t address, uint32_t number,
		       struct jvmcode **ret)
{
	if (pthread_mutex_trylock(&file->lock))
		return -EBUSY;
	int r = file->fd < 0 ? -ENOENT : read_number(file, address, number, ret);
	pthread_mutex_unlock(&file->lock);
	return r;
}
