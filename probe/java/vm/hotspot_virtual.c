// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds where a virtual thread's stack ends: at the boundary of its carrier, or at the return
 * barrier, the code that brings older frames back from the heap when a function returns to them.
 *
 * The return barrier is one of the stubs in a blob of its own. The stub before it begins a thread
 * again, and has its callers on the stack; the stubs behind it are also for frames in the heap.
 *
 * Source: OpenJDK's src/hotspot/cpu/x86/stubGenerator_x86_64.cpp (generate_cont_thaw).
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "java/vm/hotspot_state.h"

#define BLOCKS_MAX	 2048  /* searched for the stubs, which are among the first ten */
#define THREAD_BYTES_MAX 16384 /* of a JavaThread; 2 KiB are usual */
#define STUBS_MAX	 32768 /* bytes of that blob's code; 3,300 are usual */

static const char stubs_name[] = "StubRoutines (continuation";

struct virtual_search {
	struct vm_memory *memory;
	const struct vm_value *fields;
	struct jvm_layout *layout;
};

int vm_code_of(struct vm_memory *memory, const struct jvm_layout *layout, uint64_t blob,
	       uint64_t *from, uint64_t *to)
{
	bool is_offset = layout->walk.flags & HOTSPOT_CODE_IS_OFFSET;
	const struct hotspot_heap *heap = vm_heap_of(&layout->walk, blob);
	unsigned bytes = is_offset ? 4 : 8;

	*from = *to = 0;
	int r = vm_number(memory, blob + layout->walk.blob_code, bytes, from);

	if (r == 0)
		r = vm_number(memory, blob + layout->blob_code_end, bytes, to);
	if (r < 0)
		return r;
	if (is_offset) {
		*from += blob;
		*to += blob;
	}
	return heap && *from > blob && *from < *to && *to <= heap->high ? 0 : -EBADMSG;
}

static bool are_the_stubs(const struct virtual_search *looking, uint64_t blob)
{
	char name[sizeof(stubs_name)];
	uint64_t at;

	return vm_word(looking->memory, blob + looking->layout->blob_name, &at) == 0 && at &&
	       vm_text(looking->memory, at, name, sizeof(name)) == 0 &&
	       strcmp(name, stubs_name) == 0;
}

#if defined(__x86_64__)
/* Returns the barrier's offset in `code`; 0 if it isn't found. The barrier begins with a load of
 * JavaThread::_cont_entry to rsp (mov offset(%r15), %rsp), behind the ret of the stub before it.
 * JDK 21 doesn't tell the offset. */
static size_t barrier_in(const struct virtual_search *looking, const uint8_t *code, size_t bytes)
{
	static const uint8_t load[] = {0xc3, 0x49, 0x8b, 0xa7};
	const struct vm_value *entry = &looking->fields[FIELD_CONT_ENTRY];
	const uint8_t *at = memmem(code, bytes, load, sizeof(load));
	uint32_t offset;

	if (!at || bytes - (size_t)(at - code) < sizeof(load) + sizeof(offset))
		return 0;
	memcpy(&offset, at + sizeof(load), sizeof(offset));
	if (entry->known ? offset != entry->value : offset >= THREAD_BYTES_MAX)
		return 0;
	return (size_t)(at - code) + 1;
}
#else
static size_t barrier_in(const struct virtual_search *looking, const uint8_t *code, size_t bytes)
{
	(void)looking;
	(void)code;
	(void)bytes;
	return 0;
}
#endif

/* Takes the code from the barrier on; all stubs if the barrier isn't found. */
static void take_stubs(const struct virtual_search *looking, uint64_t blob)
{
	struct hotspot *walk = &looking->layout->walk;
	uint8_t code[STUBS_MAX];
	uint64_t from, to;

	if (vm_code_of(looking->memory, looking->layout, blob, &from, &to) < 0)
		return;
	if (to - from <= sizeof(code) && vm_read(looking->memory, from, code, to - from) == 0)
		from += barrier_in(looking, code, to - from);
	walk->frozen_from = from;
	walk->frozen_to = to;
}

/* Searches a heap's blocks, which lie one behind the other, for the blob with the stubs. */
static void find_stubs(const struct virtual_search *looking, const struct hotspot_heap *heap)
{
	const struct hotspot *walk = &looking->layout->walk;
	const struct vm_value *length = &looking->fields[FIELD_BLOCK_LENGTH];
	const struct vm_value *is_used = &looking->fields[FIELD_BLOCK_USED];
	uint64_t at = heap->low, segments, used;

	for (size_t i = 0; i < BLOCKS_MAX && at < heap->high; i++) {
		uint64_t blob = at + walk->block_bytes;

		if (vm_number(looking->memory, at + length->value, length->bytes, &segments) < 0 ||
		    vm_number(looking->memory, at + is_used->value, 1, &used) < 0)
			return; /* behind the last used block */
		if (used && are_the_stubs(looking, blob)) {
			take_stubs(looking, blob);
			return;
		}
		if (!segments || segments > (heap->high - at) >> walk->segment_shift)
			return;
		at += segments << walk->segment_shift;
	}
}

void vm_virtual(struct vm_memory *memory, const struct vm_tables *tables, struct jvm_layout *layout)
{
	const struct virtual_search looking = {memory, tables->fields, layout};
	const struct vm_value *length = &tables->fields[FIELD_BLOCK_LENGTH];
	const struct vm_value *used = &tables->fields[FIELD_BLOCK_USED];
	struct hotspot *walk = &layout->walk;

	if (!length->known || (length->bytes != 4 && length->bytes != 8) ||
	    length->value >= walk->block_bytes || !used->known || used->value >= walk->block_bytes)
		return;
	/* The stubs are in the interpreter's heap, for code of no method. */
	find_stubs(&looking, vm_heap_of(walk, walk->interpreter_from));
	if (!walk->frozen_from)
		return; /* up to JDK 20: no virtual threads */
	layout->unfinished =
		vm_carrier(memory, tables, layout, &walk->carrier_from, &walk->carrier_to) < 0;
}
