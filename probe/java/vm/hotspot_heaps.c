// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads where a VM's code cache and its interpreter are. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "java/vm/hotspot_state.h"

#define HEAP_BYTES_MAX	  (4ULL << 30) /* the VM's own limit is 2 GiB */
#define ADDRESS_MAX	  (1ULL << 56)
#define INTERPRETER_BYTES (16ULL << 20) /* 200 KiB are usual */
#define SEGMENT_SHIFT_MIN 3
#define SEGMENT_SHIFT_MAX 16

struct heaps_search {
	struct vm_memory *memory;
	const struct vm_value *fields;
	struct jvm_layout *layout;
	const char **missing;
};

/* Checks that the fields are there; *missing is the first that isn't. */
static int check_fields(const struct heaps_search *looking, const enum vm_field *fields,
			size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!looking->fields[fields[i]].known) {
			*looking->missing = vm_field_name(fields[i]);
			return -ENOTSUP;
		}
		if (looking->fields[fields[i]].value > ADDRESS_MAX)
			return -EBADMSG;
	}
	return 0;
}

static int word_of(const struct heaps_search *looking, uint64_t object, enum vm_field field,
		   uint64_t *word)
{
	return vm_word(looking->memory, object + looking->fields[field].value, word);
}

static int int_of(const struct heaps_search *looking, uint64_t object, enum vm_field field,
		  uint64_t *number)
{
	return vm_number(looking->memory, object + looking->fields[field].value, 4, number);
}

/* ---- the code cache ---- */

static int read_heap(const struct heaps_search *looking, uint64_t object, struct hotspot_heap *heap,
		     uint64_t *shift)
{
	const struct vm_value *fields = looking->fields;
	uint64_t memory = object + fields[FIELD_HEAP_MEMORY].value;
	int r = object ? int_of(looking, object, FIELD_HEAP_SHIFT, shift) : -EAGAIN;

	if (r == 0)
		r = word_of(looking, memory, FIELD_SPACE_LOW_BOUNDARY, &heap->low);
	if (r == 0)
		r = word_of(looking, memory, FIELD_SPACE_HIGH_BOUNDARY, &heap->high);
	if (r == 0)
		r = word_of(looking, object + fields[FIELD_HEAP_SEGMENTS].value, FIELD_SPACE_LOW,
			    &heap->segments);
	if (r < 0)
		return r;
	if (!heap->low || !heap->segments)
		return -EAGAIN;
	return heap->low < heap->high && heap->high - heap->low <= HEAP_BYTES_MAX &&
			       heap->high <= ADDRESS_MAX && *shift >= SEGMENT_SHIFT_MIN &&
			       *shift <= SEGMENT_SHIFT_MAX
		       ? 0
		       : -EBADMSG;
}

/* Adds a heap; heaps are sorted by address. */
static int add_heap(struct hotspot *walk, size_t count, const struct hotspot_heap *heap)
{
	size_t place = count;

	while (place && walk->heaps[place - 1].low > heap->low)
		place--;
	if ((place && walk->heaps[place - 1].high > heap->low) ||
	    (place < count && walk->heaps[place].low < heap->high))
		return -EBADMSG; /* heaps overlap */
	memmove(&walk->heaps[place + 1], &walk->heaps[place], (count - place) * sizeof(*heap));
	walk->heaps[place] = *heap;
	return 0;
}

/* Sets *at to the array of the heaps' addresses, and *count to its length. */
static int list_heaps(const struct heaps_search *looking, uint64_t *at, uint64_t *count)
{
	const struct vm_value *fields = looking->fields;
	uint64_t array;

	*count = 1;
	*at = fields[FIELD_HEAP].value;
	if (fields[FIELD_HEAP].known)
		return 0;
	int r = vm_word(looking->memory, fields[FIELD_HEAPS].value, &array);
	if (r == 0 && !array)
		return -EAGAIN;
	if (r == 0)
		r = int_of(looking, array, FIELD_ARRAY_COUNT, count);
	if (r == 0)
		r = word_of(looking, array, FIELD_ARRAY_DATA, at);
	if (r < 0)
		return r;
	if (*count > HOTSPOT_HEAPS_MAX) {
		*looking->missing = vm_field_name(FIELD_HEAPS);
		return -ENOTSUP;
	}
	return *count && *at ? 0 : -EAGAIN;
}

static int read_heaps(const struct heaps_search *looking)
{
	struct hotspot *walk = &looking->layout->walk;
	uint64_t at, count;
	int r = list_heaps(looking, &at, &count);

	for (size_t i = 0; r == 0 && i < count; i++) {
		struct hotspot_heap heap = {0};
		uint64_t object, shift = 0;

		r = vm_word(looking->memory, at + i * sizeof(object), &object);
		if (r == 0)
			r = read_heap(looking, object, &heap, &shift);
		if (r == 0 && i && shift != walk->segment_shift)
			return -EBADMSG;
		walk->segment_shift = (uint8_t)shift;
		if (r == 0)
			r = add_heap(walk, i, &heap);
	}
	return r;
}

const struct hotspot_heap *vm_heap_of(const struct hotspot *walk, uint64_t address)
{
	for (size_t i = 0; i < HOTSPOT_HEAPS_MAX; i++) {
		if (address >= walk->heaps[i].low && address < walk->heaps[i].high)
			return &walk->heaps[i];
	}
	return NULL;
}

static int read_interpreter(const struct heaps_search *looking)
{
	struct hotspot *walk = &looking->layout->walk;
	uint64_t queue = 0, from = 0, bytes = 0;
	int r = vm_word(looking->memory, looking->fields[FIELD_INTERPRETER].value, &queue);

	if (r == 0 && !queue)
		return -EAGAIN;
	if (r == 0)
		r = word_of(looking, queue, FIELD_QUEUE_BUFFER, &from);
	if (r == 0)
		r = int_of(looking, queue, FIELD_QUEUE_BYTES, &bytes);
	if (r < 0)
		return r;
	if (!from || !bytes)
		return -EAGAIN;
	const struct hotspot_heap *heap = vm_heap_of(walk, from);
	if (!heap || bytes > INTERPRETER_BYTES || bytes > heap->high - from)
		return -EBADMSG;
	walk->interpreter_from = from;
	walk->interpreter_to = from + bytes;
	return 0;
}

int vm_heaps(struct vm_memory *memory, const struct vm_tables *tables, struct jvm_layout *layout,
	     const char **missing)
{
	static const enum vm_field wanted[] = {
		FIELD_HEAP_MEMORY,	  FIELD_HEAP_SEGMENTS,	     FIELD_HEAP_SHIFT,
		FIELD_SPACE_LOW_BOUNDARY, FIELD_SPACE_HIGH_BOUNDARY, FIELD_SPACE_LOW,
		FIELD_INTERPRETER,	  FIELD_QUEUE_BUFFER,	     FIELD_QUEUE_BYTES,
	};
	static const enum vm_field segmented[] = {FIELD_HEAPS, FIELD_ARRAY_COUNT, FIELD_ARRAY_DATA};
	const struct heaps_search looking = {memory, tables->fields, layout, missing};
	int r = check_fields(&looking, wanted, ARRAY_SIZE(wanted));

	if (r == 0 && !tables->fields[FIELD_HEAP].known)
		r = check_fields(&looking, segmented, ARRAY_SIZE(segmented));
	if (r == 0)
		r = read_heaps(&looking);
	if (r == 0)
		r = read_interpreter(&looking);
	return r;
}
