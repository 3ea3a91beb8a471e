// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/grow.h"
#include "jit/jit_memory.h"
#include "jit/jitdump_state.h"

#define CPU_NS	    JIT_CPU_NS /* of one reading */
#define CHECK_EVERY 64	       /* records between two looks at the clock */
/* Of functions that have ended, so many whose addresses are close are looked at: a program may put
 * any number in one place. */
#define STEPS_MAX 64

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
		if (i % CHECK_EVERY == 0 && clock_ns(CLOCK_THREAD_CPUTIME_ID) > end_ns) {
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
	if (before && reader->at == reader->end) {
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

static const char *name_of(const struct jitdump *dump, const struct jitdump_function *function,
			   size_t *len)
{
	*len = function->name_len;
	return *len ? dump->names.data + function->name : NULL;
}

const char *jitdump_find(const struct jitdump *dump, uint64_t address, uint64_t ns, size_t *len)
{
	size_t behind = PARTITION_POINT(at, dump->count, dump->functions[at].start <= address);
	const struct jitdump_function *now = behind ? &dump->functions[behind - 1] : NULL;

	if (dump->has_more && ns > dump->last_ns)
		return NULL; /* a record that wasn't read yet may tell of other code there */
	if (now && address < jitdump_end(now) && now->from_ns <= ns)
		return name_of(dump, now, len);
	behind = PARTITION_POINT(at, dump->gone_count, dump->gone[at].start <= address);
	for (size_t i = behind; i && behind - i < STEPS_MAX; i--) {
		const struct jitdump_function *gone = &dump->gone[i - 1];

		if (dump->gone_ends[i - 1] <= address)
			return NULL;
		if (address < jitdump_end(gone) && gone->from_ns <= ns && ns < gone->until_ns)
			return name_of(dump, gone, len);
	}
	return NULL;
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
