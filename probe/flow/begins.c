// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/begins.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "elf/code_refs.h"
#include "elf/native.h"
#include "flow/flow.h"

#define NAMES_MAX (1u << 20)
#define NEAR_MAX  16 /* addresses behind a call's target that are looked at */

/* Keeps the nearest. */
static void add_begin(struct begins *one, enum begin_kind kind, uint64_t at)
{
	uint64_t *known = one->of[kind].at;
	unsigned *count = &one->of[kind].count, i = 0;

	while (i < *count && known[i] > at)
		i++;
	if (i == BEGINS_MAX || (i < *count && known[i] == at))
		return;
	if (*count < BEGINS_MAX)
		++*count;
	memmove(known + i + 1, known + i, (*count - i - 1) * sizeof(*known));
	known[i] = at;
}

/* ---- what symbols say ---- */

static const struct elf_segment *segment_of(const struct elf_image *image, uint64_t address)
{
	for (size_t i = 0; i < image->segments_count; i++) {
		if (address - image->segments[i].address < image->segments[i].file_bytes)
			return &image->segments[i];
	}
	return NULL;
}

static int compare_questions(const void *a, const void *b)
{
	const struct native_function *left = a, *right = b;

	return left->offset < right->offset ? -1 : left->offset > right->offset;
}

/* Part of a function that the compiler put elsewhere: it begins with the function's frame. */
static bool is_cold(const char *name)
{
	return strstr(name, ".cold") != NULL;
}

static int ask_symbols(int fd, const struct elf_image *image, struct begins *begins, size_t count)
{
	_cleanup_free_ struct native_function *functions = calloc(count + 1, sizeof(*functions));
	_cleanup_(buf_done) struct buf names = {.max = NAMES_MAX};

	if (!functions)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct elf_segment *segment = segment_of(image, begins[i].wanted);

		functions[i].offset =
			segment ? segment->file_offset + (begins[i].wanted - segment->address)
				: UINT64_MAX;
	}
	int r = native_resolve(fd, -1, false, functions, count, &names, NULL);
	if (r < 0) /* calls tell without symbols, too */
		return r == -ENOMEM ? r : 0;
	qsort(functions, count, sizeof(*functions), compare_questions);
	for (size_t i = 0; i < count; i++) {
		struct begins *one = &begins[i];
		const struct elf_segment *segment = segment_of(image, one->wanted);
		struct native_function key = {
			.offset = segment ? segment->file_offset + (one->wanted - segment->address)
					  : UINT64_MAX};
		const struct native_function *found =
			bsearch(&key, functions, count, sizeof(*functions), compare_questions);

		if (!segment || !found || found->from == found->to)
			continue;
		one->end = one->wanted + (found->to - found->offset);
		if (found->address > one->wanted)
			continue;
		if (found->name == NATIVE_NO_NAME)
			add_begin(one, BEGIN_JUMPED, found->address); /* or a function's end */
		else if (!is_cold(names.data + found->name))
			add_begin(one, BEGIN_NAMED, found->address);
	}
	return 0;
}

/* ---- where calls go ---- */

struct search {
	struct begins *begins;
	size_t count;
};

static int meet_target(void *arg, uint64_t site, uint64_t target, enum code_ref ref)
{
	static const enum begin_kind kinds[] = {[CODE_CALL] = BEGIN_CALLED,
						[CODE_ADDRESS] = BEGIN_TAKEN,
						[CODE_NUMBER] = BEGIN_TAKEN,
						[CODE_JUMP] = BEGIN_JUMPED};
	const struct search *search = arg;
	enum begin_kind kind = kinds[ref];
	size_t first = PARTITION_POINT(at, search->count, search->begins[at].wanted < target);

	(void)site;
	/* A jump may stay in its function. */
	if (first > 0 && kind == BEGIN_CALLED && target < search->begins[first - 1].end)
		search->begins[first - 1].end = target;
	for (size_t i = first; i < search->count && i - first < NEAR_MAX; i++) {
		struct begins *one = &search->begins[i];

		if (one->wanted - target >= FLOW_BYTES_MAX)
			break;
		add_begin(one, kind, target);
	}
	return 0;
}

int begins_find(int fd, const struct elf_image *image, struct begins *begins, size_t count)
{
	struct search search = {begins, count};

	for (size_t i = 0; i < count; i++) {
		const struct elf_segment *segment = segment_of(image, begins[i].wanted);

		memset(begins[i].of, 0, sizeof(begins[i].of));
		begins[i].end = segment ? segment->address + segment->file_bytes : 0;
	}
	int r = ask_symbols(fd, image, begins, count);
	meet_target(&search, 0, image->entry, CODE_CALL);
	return r ? r : code_refs_scan(fd, image, CODE_ALL, meet_target, &search, 0);
}

/* ---- who calls ---- */

struct callers {
	const uint64_t *targets;
	size_t count;
	int (*met)(void *arg, uint64_t site);
	void *arg;
};

static int compare_addresses(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

static int meet_call(void *arg, uint64_t site, uint64_t target, enum code_ref ref)
{
	const struct callers *callers = arg;

	(void)ref;
	if (!bsearch(&target, callers->targets, callers->count, sizeof(*callers->targets),
		     compare_addresses))
		return 0;
	return callers->met(callers->arg, site);
}

int begins_callers(int fd, const struct elf_image *image, const uint64_t *targets, size_t count,
		   int (*met)(void *arg, uint64_t site), void *arg)
{
	struct callers callers = {targets, count, met, arg};

	return code_refs_scan(fd, image, 1u << CODE_CALL, meet_call, &callers, 0);
}
