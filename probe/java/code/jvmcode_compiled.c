// SPDX-License-Identifier: GPL-2.0-or-later
/* Reader for compiled methods (nmethods), with the methods inlined into them. */
#include "java/code/jvmcode_struct.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "java/code/jvmstops.h"
#include "java/code/unsigned5.h"

#define PCS_BYTES_MAX  (1 << 20)
#define DATA_BYTES_MAX (1 << 19)
#define METADATA_MAX   (1 << 14)
#define METHODS_MAX    4096 /* in one nmethod */

/* A part of the VM's memory: [from, to). */
struct code_range {
	uint64_t from, to;
};

struct code_parts {
	struct code_range pcs, data, metadata;
};

static void find_metadata(const struct jvmblob *blob, const struct jvm_layout *layout,
			  struct code_parts *parts)
{
	const struct jvm_span *head = &blob->head;
	uint64_t base = blob->address, end = parts->data.from;

	if (layout->nmethod_mutable != HOTSPOT_NO) {
		base = jvm_word(head, layout->nmethod_mutable);
		end = base + (uint32_t)jvm_int(head, layout->nmethod_mutable_size);
	}
	if (layout->blob_data != HOTSPOT_NO) {
		base = blob->address + (uint32_t)jvm_int(head, layout->blob_data);
		parts->metadata.from = base + jvm_u2(head, layout->nmethod_metadata);
		parts->metadata.to = blob->end;
		return;
	}
	parts->metadata.from = base + (uint32_t)jvm_int(head, layout->nmethod_metadata);
	parts->metadata.to = end;
	if (layout->nmethod_metadata_end != HOTSPOT_NO)
		parts->metadata.to = base + (uint32_t)jvm_int(head, layout->nmethod_metadata_end);
}

static int check_part(const struct code_range *part, size_t max)
{
	return part->to >= part->from && part->to - part->from <= max ? 0 : -EBADMSG;
}

static int find_parts(const struct jvmblob *blob, const struct jvm_layout *layout,
		      struct code_parts *parts)
{
	const struct jvm_span *head = &blob->head;
	bool has_immutable = layout->nmethod_immutable != HOTSPOT_NO;
	uint64_t base = has_immutable ? jvm_word(head, layout->nmethod_immutable) : blob->address;

	parts->pcs.from = base + (uint32_t)jvm_int(head, layout->nmethod_scopes_pcs);
	parts->pcs.to = base + (uint32_t)jvm_int(head, layout->nmethod_scopes_pcs_end);
	parts->data.from = layout->nmethod_scopes_data_is_address
				   ? jvm_word(head, layout->nmethod_scopes_data)
				   : base + (uint32_t)jvm_int(head, layout->nmethod_scopes_data);
	parts->data.to = has_immutable
				 ? base + (uint32_t)jvm_int(head, layout->nmethod_immutable_size)
				 : parts->pcs.from;
	find_metadata(blob, layout, parts);
	if (check_part(&parts->pcs, PCS_BYTES_MAX) < 0 ||
	    check_part(&parts->data, DATA_BYTES_MAX) < 0 ||
	    check_part(&parts->metadata, METADATA_MAX * sizeof(uint64_t)) < 0)
		return -EBADMSG;
	return 0;
}

static int read_part(struct jvm_reader *reader, const struct code_range *part, uint8_t **ret)
{
	size_t bytes = part->to - part->from;
	uint8_t *data = malloc(bytes + 1);

	*ret = data;
	return data ? jvm_read(reader, part->from, data, bytes) : -ENOMEM;
}

static int read_scopes(struct jvmcode_reading *reading, const struct code_parts *parts)
{
	_cleanup_free_ uint8_t *pcs = NULL, *data = NULL;

	int r = read_part(&reading->reader, &parts->pcs, &pcs);
	if (r == 0)
		r = read_part(&reading->reader, &parts->data, &data);
	if (r < 0)
		return r;
	const struct jvmscopes_input input = {
		.pcs = pcs,
		.data = data,
		.pcs_bytes = parts->pcs.to - parts->pcs.from,
		.data_bytes = parts->data.to - parts->data.from,
		.base = unsigned5_base(reading->reader.layout->version),
	};
	return jvmscopes_decode(&reading->scopes, reading->reader.layout, &input);
}

/* Marks the places where the VM may stop. If there are other places, the compiler kept debug
 * information for all of the code. */
static int read_stops(struct jvmcode_reading *reading)
{
	uint64_t maps = jvm_word(&reading->blob.head, reading->reader.layout->blob_oop_maps);
	_cleanup_free_ uint32_t *pcs = NULL;

	long count = jvmstops_read(&reading->reader, maps, &pcs);
	if (count < 0)
		return (int)count;
	if (count)
		reading->code.is_known_everywhere =
			jvmscopes_mark_stops(&reading->scopes, pcs, (size_t)count);
	return 0;
}

/* Linked lists of the scopes of each method. */
struct lists {
	uint32_t *first, *next; /* numbers of scopes from 1; 0: none */
};

static void lists_done(struct lists *lists)
{
	free(lists->first);
	free(lists->next);
}

static const struct jvmmethod *same_class(const struct jvmcode_reading *reading, uint64_t pool)
{
	for (uint32_t i = reading->methods_count; i-- > 0;)
		if (reading->pools[i] == pool)
			return &reading->methods[i];
	return NULL;
}

/* Adds the method in reading->method with its names, and sets the lines of its scopes. */
static int add_method(struct jvmcode_reading *reading, const struct lists *lists, uint32_t scope)
{
	struct jvmmethod_reading *method = &reading->method;
	uint32_t number = reading->methods_count;

	if (number == METHODS_MAX)
		return -EBADMSG;
	int r = jvmmethod_read_code(method, &reading->reader);
	if (r == 0)
		r = jvmmethod_read_names(method, &reading->reader, &reading->texts,
					 same_class(reading, method->pool),
					 &reading->methods[number]);
	if (r < 0)
		return r;
	reading->pools[number] = method->pool;
	reading->methods_count++;
	for (; scope; scope = lists->next[scope]) {
		struct jvmscope *at = &reading->scopes.scopes[scope - 1];

		at->method = number;
		at->line = jvmlines_line(method->lines, method->lines_count,
					 at->bci < 0 ? 0 : (uint32_t)at->bci);
	}
	return 0;
}

static int make_lists(const struct jvmscopes *scopes, size_t metadata, struct lists *lists)
{
	lists->first = calloc(metadata + 1, sizeof(*lists->first));
	lists->next = calloc(scopes->scopes_count + 1, sizeof(*lists->next));
	if (!lists->first || !lists->next)
		return -ENOMEM;
	for (uint32_t i = 0; i < scopes->scopes_count; i++) {
		uint32_t method = scopes->scopes[i].method;

		if (method > metadata)
			return -EBADMSG;
		lists->next[i + 1] = lists->first[method];
		lists->first[method] = i + 1;
	}
	return 0;
}

/* Adds all methods but the outermost, whose number is `own`. */
static int add_methods(struct jvmcode_reading *reading, const struct lists *lists,
		       const uint64_t *metadata, size_t count, size_t own)
{
	int r = 0;

	for (size_t i = 1; r == 0 && i <= count; i++) {
		if (!lists->first[i] || i == own)
			continue;
		r = jvmmethod_begin(&reading->method, &reading->reader, metadata[i - 1]);
		if (r == 0)
			r = add_method(reading, lists, lists->first[i]);
	}
	return r;
}

static uint32_t only_line(const struct jvmmethod_reading *method)
{
	for (size_t i = 1; i < method->lines_count; i++)
		if (method->lines[i].line != method->lines[0].line)
			return 0;
	return method->lines_count ? method->lines[0].line : 0;
}

static int add_outermost(struct jvmcode_reading *reading, uint32_t scopes,
			 const struct lists *lists)
{
	int r = add_method(reading, lists, scopes);

	reading->code.calls_nothing = reading->method.calls_nothing;
	reading->code.line = only_line(&reading->method);
	return r;
}

/* Checks that each chain of callers ends with the outermost method. */
static int check_roots(const struct jvmscopes *scopes)
{
	for (uint32_t i = 0; i < scopes->scopes_count; i++)
		if (!scopes->scopes[i].caller && scopes->scopes[i].method)
			return -EBADMSG;
	return 0;
}

static int read_methods(struct jvmcode_reading *reading, const struct code_range *part)
{
	size_t count = (part->to - part->from) / sizeof(uint64_t), own = 0;
	_cleanup_free_ uint64_t *metadata = calloc(count + 1, sizeof(*metadata));
	_cleanup_(lists_done) struct lists lists = {0};

	free(reading->methods);
	reading->methods = calloc(count + 1, sizeof(*reading->methods));
	reading->pools = calloc(count + 1, sizeof(*reading->pools));
	if (!metadata || !reading->methods || !reading->pools)
		return -ENOMEM;
	int r = jvm_read(&reading->reader, part->from, metadata, count * sizeof(*metadata));
	if (r < 0)
		return r;
	r = make_lists(&reading->scopes, count, &lists);
	if (r < 0)
		return r;
	for (size_t i = 1; i <= count; i++)
		if (lists.first[i] && metadata[i - 1] == reading->method.address)
			own = i;
	r = add_outermost(reading, lists.first[own], &lists);
	if (r == 0)
		r = add_methods(reading, &lists, metadata, count, own);
	return r < 0 ? r : check_roots(&reading->scopes);
}

static uint32_t complete_at(const struct jvm_span *head, const struct hotspot *walk)
{
	int32_t at = walk->flags & HOTSPOT_COMPLETE_IS_SHORT
			     ? (int16_t)jvm_u2(head, walk->blob_complete)
			     : jvm_int(head, walk->blob_complete);

	return at > 0 ? (uint32_t)at : 0; /* -1: the code makes no frame */
}

int jvmcode_read_compiled(struct jvmcode_reading *reading)
{
	const struct jvm_layout *layout = reading->reader.layout;
	const struct jvm_span *head = &reading->blob.head;
	uint64_t method = jvm_word(head, layout->nmethod_method);
	struct code_parts parts;

	int r = jvmmethod_begin(&reading->method, &reading->reader, method);
	if (r < 0)
		return r;
	reading->code.complete = complete_at(head, &layout->walk);
	if (jvmmethod_is_native(&reading->method)) {
		reading->methods_count = 1;
		return jvmmethod_read_names(&reading->method, &reading->reader, &reading->texts,
					    NULL, &reading->methods[0]);
	}
	r = find_parts(&reading->blob, layout, &parts);
	if (r == 0)
		r = read_scopes(reading, &parts);
	if (r == 0)
		r = read_stops(reading);
	return r < 0 ? r : read_methods(reading, &parts.metadata);
}
