// SPDX-License-Identifier: GPL-2.0-or-later
#include "java/code/jvmblob.h"

#include "base/cleanup.h"

#define STEPS_MAX    4096 /* steps back in the segment map: 1 MiB of code, and more */
#define WINDOW_BYTES 64	  /* bytes of the map that are read at once */
#define SEGMENT_FREE 0xff
#define PAGE_BYTES   4096

static const struct hotspot_heap *heap_of(const struct hotspot *walk, uint64_t pc)
{
	for (size_t i = 0; i < HOTSPOT_HEAPS_MAX; i++)
		if (pc >= walk->heaps[i].low && pc < walk->heaps[i].high)
			return &walk->heaps[i];
	return NULL;
}

/* Moves *segment to the segment in which its block begins. */
static int find_begin(struct jvm_reader *reader, uint64_t map, uint64_t *segment)
{
	uint8_t window[WINDOW_BYTES] = {0};
	uint64_t from = UINT64_MAX;

	for (unsigned int i = 0; i < STEPS_MAX; i++) {
		if (*segment < from) {
			from = *segment < WINDOW_BYTES ? 0 : *segment - WINDOW_BYTES + 1;
			int r = jvm_read(reader, map + from, window, *segment - from + 1);
			if (r < 0)
				return r;
		}
		uint8_t back = window[*segment - from];
		if (!back)
			return 0;
		if (back == SEGMENT_FREE || back > *segment)
			return -ESTALE;
		*segment -= back;
	}
	return -EBADMSG;
}

/* Reads a blob's head. A small blob may lie at the end of the memory that can be read: then the
 * head is cut at the page's end. */
static int read_head(struct jvm_span *head, struct jvm_reader *reader, uint64_t address)
{
	size_t there = PAGE_BYTES - address % PAGE_BYTES;

	int r = jvm_span_read(head, reader, address);
	if (r != -EFAULT || there >= head->bytes)
		return r;
	head->bytes = there;
	return jvm_span_read(head, reader, address);
}

static void want_fields(struct jvm_span *head, const struct jvm_layout *layout)
{
	const uint16_t fields[] = {
		layout->walk.blob_header,
		layout->walk.blob_size,
		layout->walk.blob_code,
		layout->walk.blob_complete,
		layout->walk.nmethod_id,
		layout->blob_name,
		layout->blob_code_end,
		layout->blob_oop_maps,
		layout->nmethod_method,
		layout->nmethod_immutable,
		layout->nmethod_immutable_size,
		layout->nmethod_mutable,
		layout->nmethod_mutable_size,
		layout->nmethod_scopes_pcs,
		layout->nmethod_scopes_pcs_end,
		layout->nmethod_scopes_data,
		layout->nmethod_metadata,
		layout->nmethod_metadata_end,
		layout->blob_data,
	};

	head->bytes = 0;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		jvm_span_want(head, fields[i]);
}

static void find_parts(struct jvmblob *blob, const struct jvm_layout *layout)
{
	const struct hotspot *walk = &layout->walk;
	const struct jvm_span *head = &blob->head;
	uint32_t header = walk->flags & HOTSPOT_HEADER_IS_SHORT
				  ? jvm_u2(head, walk->blob_header)
				  : (uint32_t)jvm_int(head, walk->blob_header);

	blob->is_nmethod = header == walk->nmethod_header;
	blob->id = blob->is_nmethod ? (uint32_t)jvm_int(head, walk->nmethod_id) : 0;
	blob->end = blob->address + (uint32_t)jvm_int(head, walk->blob_size);
	if (walk->flags & HOTSPOT_CODE_IS_OFFSET) {
		blob->code = blob->address + (uint32_t)jvm_int(head, walk->blob_code);
		blob->code_end = blob->address + (uint32_t)jvm_int(head, layout->blob_code_end);
	} else {
		blob->code = jvm_word(head, walk->blob_code);
		blob->code_end = jvm_word(head, layout->blob_code_end);
	}
}

int jvmblob_find(struct jvmblob *blob, struct jvm_reader *reader, uint64_t pc)
{
	const struct hotspot *walk = &reader->layout->walk;
	const struct hotspot_heap *heap = heap_of(walk, pc);

	if (!heap || walk->segment_shift > 16)
		return -ESTALE;
	uint64_t segment = (pc - heap->low) >> walk->segment_shift;
	int r = find_begin(reader, heap->segments, &segment);
	if (r < 0)
		return r;
	blob->address = heap->low + (segment << walk->segment_shift) + walk->block_bytes;
	want_fields(&blob->head, reader->layout);
	r = read_head(&blob->head, reader, blob->address);
	if (r < 0)
		return r;
	find_parts(blob, reader->layout);
	if (blob->end > heap->high || blob->code < blob->address || blob->code > blob->code_end ||
	    blob->code_end > blob->end)
		return -EBADMSG;
	return pc >= blob->code && pc <= blob->code_end ? 0 : -ESTALE;
}

int jvmblob_check(const struct jvmblob *blob, struct jvm_reader *reader)
{
	const struct jvm_layout *layout = reader->layout;
	const uint16_t words[] = {layout->nmethod_method, layout->nmethod_immutable,
				  layout->nmethod_mutable, layout->blob_oop_maps};
	struct jvmblob now = {.address = blob->address, .head.bytes = blob->head.bytes};

	int r = jvm_span_read(&now.head, reader, blob->address);
	if (r < 0)
		return r;
	find_parts(&now, layout);
	if (now.is_nmethod != blob->is_nmethod || now.id != blob->id || now.end != blob->end ||
	    now.code != blob->code || now.code_end != blob->code_end)
		return -ESTALE;
	for (size_t i = 0; blob->is_nmethod && i < ARRAY_SIZE(words); i++)
		if (jvm_word(&now.head, words[i]) != jvm_word(&blob->head, words[i]))
			return -ESTALE;
	return 0;
}

long jvmblob_name(const struct jvmblob *blob, struct jvm_reader *reader,
		  char name[JVMBLOB_NAME_MAX])
{
	uint64_t address = jvm_word(&blob->head, reader->layout->blob_name);
	size_t bytes = PAGE_BYTES - address % PAGE_BYTES;

	if (bytes > JVMBLOB_NAME_MAX)
		bytes = JVMBLOB_NAME_MAX;
	int r = jvm_read(reader, address, name, bytes);
	if (r == 0 && bytes < JVMBLOB_NAME_MAX && !memchr(name, 0, bytes)) {
		r = jvm_read(reader, address + bytes, name + bytes, JVMBLOB_NAME_MAX - bytes);
		bytes = JVMBLOB_NAME_MAX;
	}
	return r < 0 ? r : (long)strnlen(name, bytes);
}
