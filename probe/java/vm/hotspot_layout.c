// SPDX-License-Identifier: GPL-2.0-or-later
/* Fills a struct jvm_layout from the VM's tables, and checks all numbers. */
#include <errno.h>

#include "base/cleanup.h"
#include "java/vm/hotspot_state.h"

#define BLOB_BYTES_MAX	 (8 * HOTSPOT_BLOB_WORDS_MAX)
#define OBJECT_BYTES_MAX 4096 /* no field of other structs lies behind that */

#define AT(member)	 offsetof(struct jvm_layout, member)

/* A field whose offset becomes a uint16_t of the layout. */
struct layout_row {
	enum vm_field field;
	uint8_t bytes; /* the field's size; 0: any */
	bool optional; /* HOTSPOT_NO if this VM doesn't have the field */
	uint16_t max;  /* the field ends before this offset */
	size_t to;     /* offset in struct jvm_layout */
};

#define ROW(id, bytes, optional, max, member)                                                      \
	{                                                                                          \
		FIELD_##id, bytes, optional, max, AT(member)                                       \
	}
#define BLOB(id, bytes, member)	   ROW(id, bytes, false, BLOB_BYTES_MAX, member)
#define MAYBE(id, bytes, member)   ROW(id, bytes, true, BLOB_BYTES_MAX, member)
#define OBJECT(id, bytes, member)  ROW(id, bytes, false, OBJECT_BYTES_MAX, member)
#define PERHAPS(id, bytes, member) ROW(id, bytes, true, OBJECT_BYTES_MAX, member)

static const struct layout_row rows[] = {
	BLOB(BLOB_NAME, 8, blob_name),
	BLOB(BLOB_HEADER, 0, walk.blob_header),
	BLOB(BLOB_SIZE, 4, walk.blob_size),
	BLOB(BLOB_COMPLETE, 0, walk.blob_complete),
	BLOB(BLOB_FRAME_SIZE, 4, walk.blob_frame_size),
	MAYBE(BLOB_OOP_MAPS, 8, blob_oop_maps),
	BLOB(COMPILE_ID, 4, walk.nmethod_id),
	BLOB(ORIG_PC, 4, walk.nmethod_orig_pc),
	BLOB(METHOD, 8, nmethod_method),
	MAYBE(IMMUTABLE, 8, nmethod_immutable),
	MAYBE(IMMUTABLE_SIZE, 4, nmethod_immutable_size),
	MAYBE(BLOB_MUTABLE, 8, nmethod_mutable),
	MAYBE(BLOB_MUTABLE_SIZE, 4, nmethod_mutable_size),
	BLOB(SCOPES_PCS, 4, nmethod_scopes_pcs),
	OBJECT(PCDESC_PC, 4, pcdesc_pc),
	OBJECT(PCDESC_SCOPE, 4, pcdesc_scope),
	PERHAPS(MAPS_COUNT, 4, maps_count),
	PERHAPS(MAP_PC, 4, map_pc),
	PERHAPS(MAPS_POINTERS, 8, maps_pointers),
	OBJECT(METHOD_CONST, 8, walk.method_const),
	OBJECT(METHOD_ACCESS, 0, method_access),
	OBJECT(CONST_POOL, 8, walk.const_pool),
	OBJECT(CONST_FLAGS, 0, const_flags),
	OBJECT(CONST_WORDS, 4, const_method_bytes),
	OBJECT(CONST_CODE_SIZE, 2, walk.const_code_size),
	OBJECT(CONST_NAME, 2, walk.const_name),
	OBJECT(CONST_SIGNATURE, 2, walk.const_signature),
	OBJECT(POOL_HOLDER, 8, pool_holder),
	OBJECT(POOL_LENGTH, 4, pool_length),
	PERHAPS(POOL_SOURCE, 2, pool_source_file),
	PERHAPS(KLASS_SOURCE, 2, klass_source_file),
	OBJECT(KLASS_NAME, 8, klass_name),
	OBJECT(SYMBOL_LENGTH, 0, symbol_length),
	OBJECT(SYMBOL_BODY, 0, symbol_body),
};

struct filling {
	const struct vm_tables *tables;
	struct jvm_layout *layout;
	const char **missing;
};

/* Sets *missing; returns -ENOTSUP. */
static int set_missing(const struct filling *filling, const char *what)
{
	*filling->missing = what;
	return -ENOTSUP;
}

static bool knows_field(const struct filling *filling, enum vm_field field)
{
	return filling->tables->fields[field].known;
}

static int fill_row(const struct filling *filling, const struct layout_row *row)
{
	const struct vm_value *value = &filling->tables->fields[row->field];
	uint16_t *to = (uint16_t *)((char *)filling->layout + row->to);

	*to = HOTSPOT_NO;
	if (!value->known)
		return row->optional ? 0 : set_missing(filling, vm_field_name(row->field));
	if (row->bytes && value->bytes != row->bytes)
		return set_missing(filling, vm_field_name(row->field));
	if (value->value > row->max - sizeof(uint64_t))
		return -EBADMSG;
	*to = (uint16_t)value->value;
	return 0;
}

static int fill_field(const struct filling *filling, enum vm_field field, uint8_t bytes,
		      uint16_t *to)
{
	const struct layout_row row = {field, bytes, false, BLOB_BYTES_MAX,
				       (size_t)((char *)to - (char *)filling->layout)};

	return fill_row(filling, &row);
}

/* ---- sizes and constants ---- */

static int take_size(const struct filling *filling, enum vm_size size, uint64_t max, uint64_t *to)
{
	const struct vm_value *value = &filling->tables->sizes[size];

	if (!value->known)
		return set_missing(filling, vm_size_name(size));
	*to = value->value;
	return *to >= 4 && *to <= max ? 0 : -EBADMSG;
}

static int fill_sizes(const struct filling *filling)
{
	struct jvm_layout *layout = filling->layout;
	uint64_t nmethod, block, method, pool, pcdesc;
	int r = take_size(filling, SIZE_NMETHOD, OBJECT_BYTES_MAX, &nmethod);

	if (r == 0)
		r = take_size(filling, SIZE_BLOCK, 64, &block);
	if (r == 0)
		r = take_size(filling, SIZE_CONST_METHOD, OBJECT_BYTES_MAX, &method);
	if (r == 0)
		r = take_size(filling, SIZE_POOL, OBJECT_BYTES_MAX, &pool);
	if (r == 0)
		r = take_size(filling, SIZE_PCDESC, 64, &pcdesc);
	if (r < 0)
		return r;
	layout->walk.nmethod_header = (uint16_t)nmethod;
	layout->walk.block_bytes = (uint8_t)block;
	layout->walk.const_bytes = (uint16_t)method;
	layout->pool_bytes = (uint16_t)pool;
	layout->pcdesc_bytes = (uint16_t)pcdesc;
	return layout->pcdesc_pc + sizeof(uint32_t) <= pcdesc &&
			       layout->pcdesc_scope + sizeof(uint32_t) <= pcdesc
		       ? 0
		       : -EBADMSG;
}

static bool is_small(const struct vm_value *value)
{
	return value->known && value->value <= 64;
}

/* Fills in the fields of OopMaps; all are HOTSPOT_NO if one is unknown. */
static void fill_maps(const struct filling *filling)
{
	const struct vm_tables *tables = filling->tables;
	const struct vm_value *maps = &tables->sizes[SIZE_MAPS], *map = &tables->sizes[SIZE_MAP];
	const struct vm_value *count = &tables->fields[FIELD_MAPS_COUNT_OF_8];
	const struct vm_value *pc = &tables->fields[FIELD_MAP_PC_OF_8];
	struct jvm_layout *layout = filling->layout;

	layout->maps_pairs = layout->map_bytes = HOTSPOT_NO;
	if (layout->maps_pointers != HOTSPOT_NO && layout->maps_count == HOTSPOT_NO &&
	    is_small(count) && is_small(pc)) {
		layout->maps_count = (uint16_t)count->value;
		layout->map_pc = (uint16_t)pc->value;
		return;
	}
	layout->maps_pointers = HOTSPOT_NO;
	if (layout->maps_count != HOTSPOT_NO && layout->map_pc != HOTSPOT_NO &&
	    (!maps->known || is_small(maps)) && (!map->known || is_small(map))) {
		layout->maps_pairs = maps->known ? (uint16_t)maps->value : 8; /* two ints */
		layout->map_bytes = map->known ? (uint16_t)map->value : 8;
		if (layout->map_pc + sizeof(uint32_t) <= layout->map_bytes)
			return;
	}
	layout->blob_oop_maps = layout->maps_count = layout->maps_pairs = layout->map_bytes =
		layout->map_pc = HOTSPOT_NO;
}

/* Fills in an interpreted frame, in words from fp. The tables have only the sender's sp, by which
 * the rest is checked. JDK 9 added the mirror, which moved what follows. Source:
 * src/hotspot/cpu/{x86,aarch64}/frame_{x86,aarch64}.hpp. */
static int fill_frame(const struct filling *filling)
{
	const struct vm_value *sender = &filling->tables->constants[CONSTANT_SENDER_SP];
	const struct vm_value *lines = &filling->tables->constants[CONSTANT_LINES];
	struct jvm_layout *layout = filling->layout;

	if (sender->known && (int64_t)sender->value != -1)
		return set_missing(filling, "frame::interpreter_frame_sender_sp_offset");
	layout->walk.frame_sender = -1;
	layout->walk.frame_method = -3;
	layout->walk.frame_bcp = knows_field(filling, FIELD_HEAP) ? -7 : -8;
	layout->const_has_lines = lines->known ? (uint32_t)lines->value : 1;
	layout->const_flags_bytes = filling->tables->fields[FIELD_CONST_FLAGS].bytes;
	if (layout->const_flags_bytes != 2 && layout->const_flags_bytes != 4)
		return set_missing(filling, vm_field_name(FIELD_CONST_FLAGS));
	return 0;
}

/* ---- where a blob's parts are ---- */

static int fill_code(const struct filling *filling)
{
	struct hotspot *walk = &filling->layout->walk;
	const struct vm_value *fields = filling->tables->fields;
	bool has_addresses = knows_field(filling, FIELD_BLOB_CODE_BEGIN);
	int r;

	if (fields[FIELD_BLOB_HEADER].bytes == 2)
		walk->flags |= HOTSPOT_HEADER_IS_SHORT;
	if (fields[FIELD_BLOB_COMPLETE].bytes == 2)
		walk->flags |= HOTSPOT_COMPLETE_IS_SHORT;
	if (has_addresses) {
		r = fill_field(filling, FIELD_BLOB_CODE_BEGIN, 8, &walk->blob_code);
		if (r == 0)
			r = fill_field(filling, FIELD_BLOB_CODE_END, 8,
				       &filling->layout->blob_code_end);
		return r;
	}
	walk->flags |= HOTSPOT_CODE_IS_OFFSET;
	r = fill_field(filling, FIELD_BLOB_CODE_OFFSET, 4, &walk->blob_code);
	if (r == 0)
		r = fill_field(filling, FIELD_BLOB_DATA_OFFSET, 4, &filling->layout->blob_code_end);
	return r;
}

static int fill_deopt(const struct filling *filling)
{
	struct hotspot *walk = &filling->layout->walk;
	bool is_offset = !knows_field(filling, FIELD_DEOPT_BEGIN);
	enum vm_field mh = is_offset ? FIELD_DEOPT_MH_OFFSET : FIELD_DEOPT_MH_BEGIN;
	int r = fill_field(filling, is_offset ? FIELD_DEOPT_OFFSET : FIELD_DEOPT_BEGIN,
			   is_offset ? 4 : 8, &walk->nmethod_deopt);

	if (is_offset)
		walk->flags |= HOTSPOT_DEOPT_IS_OFFSET;
	walk->nmethod_deopt_mh = HOTSPOT_NO;
	if (r == 0 && knows_field(filling, mh))
		r = fill_field(filling, mh, is_offset ? 4 : 8, &walk->nmethod_deopt_mh);
	return r;
}

static int fill_metadata(const struct filling *filling)
{
	struct jvm_layout *layout = filling->layout;

	layout->blob_data = layout->nmethod_metadata_end = HOTSPOT_NO;
	if (layout->nmethod_mutable != HOTSPOT_NO)
		return fill_field(filling, FIELD_BLOB_RELOCATION_SIZE, 4,
				  &layout->nmethod_metadata);
	if (layout->nmethod_immutable == HOTSPOT_NO)
		return fill_field(filling, FIELD_METADATA, 4, &layout->nmethod_metadata);
	int r = fill_field(filling, FIELD_METADATA, 2, &layout->nmethod_metadata);
	if (r == 0)
		r = fill_field(filling, FIELD_BLOB_DATA_OFFSET, 4, &layout->blob_data);
	return r;
}

static int fill_scopes(const struct filling *filling)
{
	struct jvm_layout *layout = filling->layout;
	bool is_apart = layout->nmethod_immutable != HOTSPOT_NO;
	int r;

	if (is_apart && layout->nmethod_immutable_size == HOTSPOT_NO)
		return set_missing(filling, vm_field_name(FIELD_IMMUTABLE_SIZE));
	if (layout->nmethod_mutable != HOTSPOT_NO && layout->nmethod_mutable_size == HOTSPOT_NO)
		return set_missing(filling, vm_field_name(FIELD_BLOB_MUTABLE_SIZE));
	if (!is_apart && knows_field(filling, FIELD_SCOPES_BEGIN)) {
		layout->nmethod_scopes_data_is_address = 1;
		r = fill_field(filling, FIELD_SCOPES_BEGIN, 8, &layout->nmethod_scopes_data);
	} else {
		r = fill_field(filling, FIELD_SCOPES_OFFSET, 4, &layout->nmethod_scopes_data);
	}
	if (r == 0)
		r = fill_field(filling, is_apart ? FIELD_SCOPES_OFFSET : FIELD_DEPENDENCIES, 4,
			       &layout->nmethod_scopes_pcs_end);
	return r < 0 ? r : fill_metadata(filling);
}

/* Sets how many words of a blob the walker reads: up to the end of the last field, as a field has 8
 * bytes at most. */
static void fill_words(struct hotspot *walk)
{
	const uint16_t last[] = {
		walk->blob_header,
		walk->blob_size,
		walk->blob_complete,
		walk->blob_frame_size,
		walk->blob_code,
		walk->nmethod_id,
		walk->nmethod_orig_pc,
		walk->nmethod_deopt,
		walk->nmethod_deopt_mh == HOTSPOT_NO ? 0 : walk->nmethod_deopt_mh,
	};
	uint16_t most = 0;

	for (size_t i = 0; i < ARRAY_SIZE(last); i++)
		most = last[i] > most ? last[i] : most;
	walk->blob_words = (uint8_t)((most + 8 + 7) / 8);
}

int vm_layout(const struct vm_tables *tables, struct jvm_layout *layout, const char **missing)
{
	const struct filling filling = {tables, layout, missing};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(rows); i++)
		r = fill_row(&filling, &rows[i]);
	if (r == 0)
		r = fill_sizes(&filling);
	if (r == 0)
		r = fill_frame(&filling);
	if (r == 0)
		r = fill_code(&filling);
	if (r == 0)
		r = fill_deopt(&filling);
	if (r == 0)
		r = fill_scopes(&filling);
	if (r < 0)
		return r;
	fill_maps(&filling);
	fill_words(&layout->walk);
	return layout->walk.blob_words <= HOTSPOT_BLOB_WORDS_MAX ? 0 : -EBADMSG;
}
