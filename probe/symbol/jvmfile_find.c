// SPDX-License-Identifier: GPL-2.0-only
/*
 * The code that an address was, by the times at which the agent told of it: for a VM of which
 * nothing else is known. It tells of what comes and of what goes some moments late, so code may
 * have been there from a moment before it was told until it was told that it had gone. Where that
 * leaves two, there is no answer.
 */
#include <errno.h>
#include <string.h>

#include "base/loop.h"
#include "symbol/jvmfile_state.h"

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

/* The VM doesn't tell when a stub goes; but a method can't lie on one. */
static uint64_t may_end_ns(const struct asked *asked, const struct jvmfile_code *code)
{
	uint64_t end = code->unloaded_ns ? code->unloaded_ns : UINT64_MAX;

	for (uint32_t i = 0; code->kind == JAVA_STUB && i < asked->hits->count; i++) {
		const struct jvmfile_code *other = &asked->file->codes[asked->hits->places[i]];

		if (other->kind != JAVA_STUB && holds(other, asked->address) &&
		    other->loaded_ns > code->loaded_ns && other->loaded_ns < end)
			end = other->loaded_ns;
	}
	return end;
}

static bool may_be(const struct asked *asked, const struct jvmfile_code *code)
{
	return holds(code, asked->address) && may_begin_ns(code) <= asked->until_ns &&
	       may_end_ns(asked, code) >= asked->from_ns;
}

/* Stubs lie in the one that the VM made for all of them; of both it tells the same. */
static bool is_part_of(const struct jvmfile *file, const struct jvmfile_code *part,
		       const struct jvmfile_code *whole)
{
	return part->kind == JAVA_STUB && whole->kind == JAVA_STUB && part->from >= whole->from &&
	       part->to <= whole->to &&
	       (part->loaded_ns >= whole->loaded_ns || whole->loaded_ns <= file->generated_ns);
}

/* The one that it was. -ENOENT, -ESTALE */
static int find(const struct asked *asked, const struct jvmfile_code **ret)
{
	const struct jvmfile_code *found = NULL;

	if (asked->hits->more)
		return -ESTALE;
	for (uint32_t i = 0; i < asked->hits->count; i++) {
		const struct jvmfile_code *code = &asked->file->codes[asked->hits->places[i]];

		if (!may_be(asked, code))
			continue;
		if (!found || is_part_of(asked->file, code, found))
			found = code;
		else if (!is_part_of(asked->file, found, code))
			return -ESTALE;
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

static int find_at(const struct jvmfile *file, uint64_t address, uint64_t from_ns,
		   uint64_t until_ns, struct jvmfile_found *ret)
{
	struct jvmfile_hits hits;
	struct asked asked = {file, &hits, address, from_ns, until_ns};
	const struct jvmfile_code *code;

	if (until_ns > file->read_ns)
		return -EAGAIN;
	if (from_ns < file->began_ns || from_ns <= file->forgotten_ns ||
	    (file->ended_ns && until_ns > file->ended_ns + JVMFILE_MOMENT_NS))
		return -ENOENT;
	jvmfile_hits(file, address, LOOKED_AT_MAX, &hits);
	int r = find(&asked, &code);
	if (r < 0)
		return r;
	if (code->kind == JAVA_LOST || !is_certain(&asked, code))
		return -ENOENT;
	*ret = (struct jvmfile_found){.number = code->number};
	if (code->kind == JAVA_STUB)
		ret->kind = code->is_interpreter ? JVMFILE_INTERPRETER : JVMFILE_STUB;
	return 0;
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
	struct jvmfile_hits hits;

	jvmfile_hits(file, address, UINT32_MAX, &hits);
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
