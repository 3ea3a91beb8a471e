// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where a virtual thread's stack ends: at its carrier's boundary, or at the code that brings its
 * older frames back from the heap when they are returned to (the return barrier).
 *
 * That code is one of the stubs in a blob of its own. Before it lies the one that begins a thread
 * again, whose callers are on the stack; behind it what is for frames that were put away, too.
 *
 * Source: OpenJDK's src/hotspot/cpu/x86/stubGenerator_x86_64.cpp (generate_cont_thaw).
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "unwind/hotspot_state.h"

#define BLOCKS_MAX 16384 /* looked at for the stubs; they are among the first ten */
#define STUBS_MAX  32768 /* bytes of that blob's code: 3,300 are usual */

static const char stubs_name[] = "StubRoutines (continuation";

struct looking {
	struct vm_memory *memory;
	const struct vm_value *fields;
	struct jvm_layout *layout;
};

/* The code of a blob. */
static int code_of(const struct looking *looking, uint64_t blob, uint64_t *from, uint64_t *to)
{
	const struct jvm_layout *layout = looking->layout;
	bool is_offset = layout->walk.flags & HOTSPOT_CODE_IS_OFFSET;
	unsigned bytes = is_offset ? 4 : 8;
	int r = vm_number(looking->memory, blob + layout->walk.blob_code, bytes, from);

	if (r == 0)
		r = vm_number(looking->memory, blob + layout->blob_code_end, bytes, to);
	if (is_offset) {
		*from += blob;
		*to += blob;
	}
	return r;
}

static bool are_the_stubs(const struct looking *looking, uint64_t blob)
{
	char name[sizeof(stubs_name)];
	uint64_t at;

	return vm_word(looking->memory, blob + looking->layout->blob_name, &at) == 0 && at &&
	       vm_text(looking->memory, at, name, sizeof(name)) == 0 &&
	       strcmp(name, stubs_name) == 0;
}

#if defined(__x86_64__)
/* The barrier begins with a load of JavaThread::_cont_entry to rsp (mov offset(%r15), %rsp). */
static size_t barrier_in(const struct looking *looking, const uint8_t *code, size_t bytes)
{
	uint8_t load[7] = {0x49, 0x8b, 0xa7};
	uint32_t offset = (uint32_t)looking->fields[FIELD_CONT_ENTRY].value;

	if (!looking->fields[FIELD_CONT_ENTRY].known)
		return 0;
	memcpy(load + 3, &offset, sizeof(offset));
	const uint8_t *at = memmem(code, bytes, load, sizeof(load));
	return at ? (size_t)(at - code) : 0;
}
#else
static size_t barrier_in(const struct looking *looking, const uint8_t *code, size_t bytes)
{
	(void)looking;
	(void)code;
	(void)bytes;
	return 0;
}
#endif

/* All of the stubs, where it can't be told which of them it is. */
static void take_stubs(const struct looking *looking, const struct hotspot_heap *heap,
		       uint64_t blob)
{
	struct hotspot *walk = &looking->layout->walk;
	uint8_t code[STUBS_MAX];
	uint64_t from, to;

	if (code_of(looking, blob, &from, &to) < 0 || from < blob || from >= to || to > heap->high)
		return;
	if (to - from <= sizeof(code) && vm_read(looking->memory, from, code, to - from) == 0)
		from += barrier_in(looking, code, to - from);
	walk->frozen_from = from;
	walk->frozen_to = to;
}

/* The blocks of a heap lie one behind the other. */
static void find_stubs(const struct looking *looking, const struct hotspot_heap *heap)
{
	const struct hotspot *walk = &looking->layout->walk;
	const struct vm_value *length = &looking->fields[FIELD_BLOCK_LENGTH];
	const struct vm_value *is_used = &looking->fields[FIELD_BLOCK_USED];
	uint64_t at = heap->low, segments, used;

	for (size_t i = 0; i < BLOCKS_MAX && at < heap->high; i++) {
		uint64_t blob = at + walk->block_bytes;

		if (vm_number(looking->memory, at + length->value, length->bytes, &segments) < 0 ||
		    vm_number(looking->memory, at + is_used->value, 1, &used) < 0)
			return; /* the end of what is used */
		if (used && are_the_stubs(looking, blob)) {
			take_stubs(looking, heap, blob);
			return;
		}
		if (!segments || segments > (heap->high - at) >> walk->segment_shift)
			return;
		at += segments << walk->segment_shift;
	}
}

/* The first virtual thread brings it. */
static int read_carrier(const struct looking *looking)
{
	struct jvm_layout *layout = looking->layout;
	uint64_t at;
	int r = vm_word(looking->memory, looking->fields[FIELD_RETURN_PC].value, &at);

	if (r < 0)
		return r;
	layout->unfinished = !at;
	layout->walk.carrier = at;
	return !at || vm_heap_of(&layout->walk, at) ? 0 : -EBADMSG;
}

/* All of it lies in the heap that has the interpreter: that of code which isn't a method's. */
int vm_virtual(struct vm_memory *memory, const struct vm_tables *tables, struct jvm_layout *layout,
	       const char **missing)
{
	const struct looking looking = {memory, tables->fields, layout};
	const struct vm_value *length = &tables->fields[FIELD_BLOCK_LENGTH];
	const struct vm_value *used = &tables->fields[FIELD_BLOCK_USED];

	if (!tables->fields[FIELD_RETURN_PC].known)
		return 0; /* to 20: it has no virtual threads */
	if (!length->known || (length->bytes != 4 && length->bytes != 8) ||
	    length->value >= layout->walk.block_bytes || !used->known ||
	    used->value >= layout->walk.block_bytes) {
		*missing = vm_field_name(used->known ? FIELD_BLOCK_LENGTH : FIELD_BLOCK_USED);
		return -ENOTSUP;
	}
	find_stubs(&looking, vm_heap_of(&layout->walk, layout->walk.interpreter_from));
	return read_carrier(&looking);
}
