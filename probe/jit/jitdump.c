// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/grow.h"
#include "jit/jit_memory.h"
#include "jit/jitdump_state.h"

#define CPU_NS	    JIT_CPU_NS /* of one reading */
#define CHECK_EVERY 64	       /* records between two looks at the clock */
/* Of functions that have ended, so many whose addresses are close are looked at, and so many of one
 * place: a program may put any number there. */
#define STEPS_MAX 256
#define FOUND_MAX 64

struct jitdump *jitdump_ref(struct jitdump *dump)
{
	if (dump)
		atomic_fetch_add(&dump->refs, 1);
	return dump;
}

void jitdump_unref(struct jitdump *dump)
{
	if (!dump || atomic_fetch_sub(&dump->refs, 1) > 1)
		return;
	jit_memory_give(dump->whose, dump->memory);
	free(dump->functions);
	free(dump->gone);
	free(dump->gone_ends);
	buf_done(&dump->names);
	free(dump->rows);
	free(dump->rules);
	free(dump);
}

/* ---- reading ---- */

static int read_records(struct jitdump_reader *reader, struct jitdump_building *building)
{
	_cleanup_free_ struct jitdump_record *record = calloc(1, sizeof(*record));
	uint64_t end_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + CPU_NS;
	int r = record ? 1 : -ENOMEM;

	building->dump->has_more = false;
	for (unsigned i = 1; r == 1; i++) {
		bool may_take_long = i % CHECK_EVERY == 0 || building->dump->frames_bytes;

		if (may_take_long && clock_ns(CLOCK_THREAD_CPUTIME_ID) > end_ns) {
			building->dump->has_more = true;
			break;
		}
		r = jitdump_reader_next(reader, record);
		if (r == 1 && jitdump_building_take(building, record) < 0)
			r = -ENOMEM;
	}
	building->dump->at = reader->at;
	return r < 0 ? r : 0;
}

static int take_memory(struct jitdump *dump, uint64_t whose)
{
	size_t bytes = jitdump_bytes(dump);

	if (!jit_memory_take(whose, bytes))
		return -ENOSPC;
	dump->whose = whose;
	dump->memory = bytes;
	return 0;
}

int jitdump_read(struct jitdump **ret, struct jitdump *before, const struct jitdump_source *source)
{
	_cleanup_free_ struct jitdump_reader *reader = malloc(sizeof(*reader));
	_cleanup_(jitdump_building_done) struct jitdump_building building = {
		.fd = source->fd,
		.now_ns = source->now_ns,
		/* Names that take long must not count against those of root's files. */
		.demangling = {.whose = UINT64_MAX},
		.pid = source->pid,
	};

	if (!reader)
		return -ENOMEM;
	int r = before ? jitdump_reader_go_on(reader, source->fd, before->at)
		       : jitdump_reader_begin(reader, source->fd, source->pid);
	if (r < 0)
		return r;
	if (before && reader->at == reader->end && !before->has_more) {
		*ret = jitdump_ref(before);
		return 0;
	}
	r = jitdump_building_begin(&building, before);
	if (r == 0)
		r = read_records(reader, &building);
	if (r == 0)
		r = jitdump_building_end(&building);
	if (r == 0)
		r = take_memory(building.dump, source->whose);
	if (r == 0)
		*ret = TAKE_PTR(building.dump);
	return r;
}

bool jitdump_has_more(const struct jitdump *dump)
{
	return dump->has_more;
}

/* ---- what is known ---- */

/* An address between two times. */
struct jitdump_span {
	uint64_t address, from_ns, until_ns;
};

static bool has_span(const struct jitdump_function *function, const struct jitdump_span *span)
{
	return span->address >= function->start && span->address < jitdump_end(function) &&
	       function->from_ns <= span->until_ns &&
	       (!function->until_ns || function->until_ns > span->from_ns);
}

/* Returns how many functions before number `at` begin at a lower address than the one before it. */
static size_t begin_lower(const struct jitdump *dump, size_t at)
{
	uint64_t start = dump->gone[at - 1].start;

	return PARTITION_POINT(i, at, dump->gone[i].start < start);
}

/* Finds the functions that lay there; returns how many, at most FOUND_MAX. -1: there may be more
 * than were looked at. */
static int find_functions(const struct jitdump *dump, const struct jitdump_span *span,
			  const struct jitdump_function *found[FOUND_MAX])
{
	size_t behind =
		PARTITION_POINT(at, dump->count, dump->functions[at].start <= span->address);
	int count = 0, steps = 0;

	if (behind && has_span(&dump->functions[behind - 1], span))
		found[count++] = &dump->functions[behind - 1];
	if (count && found[0]->from_ns <= span->from_ns)
		return count; /* what lay there before had ended */
	size_t at = PARTITION_POINT(i, dump->gone_count, dump->gone[i].start <= span->address);
	while (at && dump->gone_ends[at - 1] > span->address) {
		const struct jitdump_function *gone = &dump->gone[at - 1];
		bool is_early = gone->until_ns <= span->from_ns;

		if (++steps > STEPS_MAX || count == FOUND_MAX)
			return -1;
		if (has_span(gone, span))
			found[count++] = gone;
		at = is_early ? begin_lower(dump, at) : at - 1;
	}
	return count;
}

static bool is_same_name(const struct jitdump *dump, const struct jitdump_function *a,
			 const struct jitdump_function *b)
{
	if (!a->name_len || a->name_len != b->name_len)
		return a->name_len == b->name_len;
	return memcmp(dump->names.data + a->name, dump->names.data + b->name, a->name_len) == 0;
}

const char *jitdump_find(const struct jitdump *dump, uint64_t address, uint64_t from_ns,
			 uint64_t until_ns, size_t *len)
{
	const struct jitdump_span span = {address, from_ns, until_ns};
	const struct jitdump_function *found[FOUND_MAX], *first = NULL;

	if (dump->has_more && until_ns > dump->last_ns)
		return NULL; /* a record that wasn't read yet may tell of other code there */
	int count = find_functions(dump, &span, found);
	for (int i = 0; i < count && !first; i++)
		first = found[i]->from_ns <= from_ns ? found[i] : NULL;
	for (int i = 0; i < count && first; i++) {
		if (!is_same_name(dump, first, found[i]))
			return NULL;
	}
	if (!first || !first->name_len)
		return NULL;
	*len = first->name_len;
	return dump->names.data + first->name;
}

size_t jitdump_functions(const struct jitdump *dump)
{
	return dump->count;
}

uint64_t jitdump_lost(const struct jitdump *dump, enum jit_loss loss)
{
	return dump->lost[loss];
}

bool jitdump_has_rows(const struct jitdump *dump)
{
	return dump->had_rows;
}

bool jitdump_rows_differ(const struct jitdump *dump, const struct jitdump *before)
{
	return dump->rows_version != (before ? before->rows_version : 0);
}
