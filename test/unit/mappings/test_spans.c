// SPDX-License-Identifier: GPL-2.0-or-later
/* Mappings of code made at run time as spans, and a Java VM's code cache among them. */
#include "unit/lib/unit.h"

#include "bpf/shared/packed.h"
#include "mappings/spans.h"

#define PAGE 0x1000

static uint32_t words[CHUNK_WORDS];

static int add_chunk(void *arg, unsigned chunk)
{
	(void)arg;
	return chunk ? -ENOMEM : 0;
}

static void remove_chunk(void *arg, unsigned chunk)
{
	(void)arg;
	(void)chunk;
}

static struct arena *arena_make(void)
{
	const struct arena_memory memory = {
		.words = words, .add = add_chunk, .remove = remove_chunk};
	struct arena *arena;

	assert_int_equal(arena_new(&arena, &memory, sizeof(words)), 0);
	return arena;
}

/* From page to page, without a file. */
struct range {
	uint64_t from, to;
};

static struct address_space *space_of(const struct range *ranges, size_t count)
{
	struct mapping mappings[8] = {0};
	struct symbol_file *files[8] = {0};
	struct address_space *space;

	assert_true(count <= ARRAY_SIZE(mappings));
	for (size_t i = 0; i < count; i++)
		mappings[i] = (struct mapping){.start = ranges[i].from * PAGE,
					       .end = ranges[i].to * PAGE,
					       .kind = MAPPING_JIT};
	assert_int_equal(address_space_new(&space), 0);
	assert_int_equal(address_space_update(space,
					      &(struct maps){.mappings = mappings, .count = count},
					      files, 1),
			 0);
	return space;
}

static struct hotspot hotspot_of(const struct range *heaps, size_t count)
{
	struct hotspot hotspot = {.segment_shift = 7};

	for (size_t i = 0; i < count; i++)
		hotspot.heaps[i] =
			(struct hotspot_heap){heaps[i].from * PAGE, heaps[i].to * PAGE, 1};
	return hotspot;
}

struct expected {
	uint64_t from, to;
	enum span_kind kind;
};

static void check(const struct range *mapped, size_t mapped_count, const struct range *heaps,
		  size_t heaps_count, const struct expected *expected, size_t count)
{
	const struct hotspot hotspot = hotspot_of(heaps, heaps_count);
	struct arena *arena = arena_make();
	struct address_space *space = space_of(mapped, mapped_count);
	struct spans_of of = {.space = space, .pid = 1, .hotspot = &hotspot};
	struct runtime_place found[RUNTIMES];
	struct spans *spans;

	assert_int_equal(spans_write(&spans, arena, NULL, &of, found), 0);
	assert_int_equal(spans->count, count);
	const struct span *written = (const struct span *)arena_words(arena, spans->start);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(written[i].start, expected[i].from * PAGE);
		assert_int_equal(written[i].end, expected[i].to * PAGE);
		assert_int_equal(written[i].what >> SPAN_KIND_SHIFT, expected[i].kind);
	}
	assert_true(spans->runtimes[RUNTIME_JAVA].walk);
	assert_int_equal(spans->runtimes[RUNTIME_JAVA].walk >> CHUNK_WORDS_SHIFT,
			 spans->start >> CHUNK_WORDS_SHIFT);
	assert_true(spans->runtimes[RUNTIME_JAVA].walk >= spans->start + count * SPAN_WORDS);
	assert_memory_equal(arena_words(arena, spans->runtimes[RUNTIME_JAVA].walk), &hotspot,
			    sizeof(hotspot));
	spans_unref(spans);
	address_space_free(space);
	arena_free(arena);
}

#define CHECK(mapped, heaps, ...)                                                                  \
	do {                                                                                       \
		const struct expected expected_[] = {__VA_ARGS__};                                 \
		check(mapped, ARRAY_SIZE(mapped), heaps, ARRAY_SIZE(heaps), expected_,             \
		      ARRAY_SIZE(expected_));                                                      \
	} while (0)

static void heaps_in_a_row_are_one_span_for_all_that_is_reserved(void **state)
{
	static const struct range mapped[] = {{10, 12}, {20, 21}, {30, 33}, {50, 51}};
	static const struct range heaps[] = {{10, 20}, {20, 30}, {30, 40}};

	(void)state;
	CHECK(mapped, heaps, {10, 40, SPAN_HOTSPOT}, {50, 51, SPAN_BARE});
}

static void heaps_apart_are_spans_of_their_own(void **state)
{
	static const struct range mapped[] = {{5, 6}, {10, 12}, {15, 16}, {20, 21}};
	static const struct range heaps[] = {{10, 14}, {20, 30}};

	(void)state;
	CHECK(mapped, heaps, {5, 6, SPAN_BARE}, {10, 14, SPAN_HOTSPOT}, {15, 16, SPAN_BARE},
	      {20, 30, SPAN_HOTSPOT});
}

/* The kernel makes one mapping of two that lie side by side. */
static void code_beside_the_cache_in_one_mapping_stays_bare(void **state)
{
	static const struct range mapped[] = {{8, 32}};
	static const struct range heaps[] = {{10, 20}, {25, 30}};

	(void)state;
	CHECK(mapped, heaps, {8, 10, SPAN_BARE}, {10, 20, SPAN_HOTSPOT}, {20, 25, SPAN_BARE},
	      {25, 30, SPAN_HOTSPOT}, {30, 32, SPAN_BARE});
}

static void what_begins_or_ends_in_the_cache_is_cut(void **state)
{
	static const struct range mapped[] = {{8, 11}, {12, 13}, {19, 24}};
	static const struct range heaps[] = {{10, 20}};

	(void)state;
	CHECK(mapped, heaps, {8, 10, SPAN_BARE}, {10, 20, SPAN_HOTSPOT}, {20, 24, SPAN_BARE});
}

static void without_a_vm_code_is_bare(void **state)
{
	static const struct range mapped[] = {{8, 11}, {12, 13}};
	struct arena *arena = arena_make();
	struct address_space *space = space_of(mapped, 2);
	struct spans_of of = {.space = space, .pid = 1};
	struct runtime_place found[RUNTIMES];
	struct spans *spans;

	(void)state;
	assert_int_equal(spans_write(&spans, arena, NULL, &of, found), 0);
	assert_int_equal(spans->count, 2);
	assert_int_equal(spans->runtimes[RUNTIME_JAVA].walk, 0);
	assert_false(spans->runtimes[RUNTIME_JAVA].is_there);
	spans_unref(spans);
	address_space_free(space);
	arena_free(arena);
}

static int give_one(void *arg, row_sink sink, void *to)
{
	const struct rule rule = {.kind = RULE_CFA,
				  .cfa_reg = 7,
				  .cfa_offset = 32,
				  .ra = {.kind = SAVED_AT_CFA, .offset = -8}};

	(void)arg;
	return sink(to, 0, &rule);
}

static void made_code_with_rows_is_cut_out_of_its_mapping(void **state)
{
	static const struct range mapped[] = {{8, 20}, {30, 31}};
	struct jit_piece pieces[] = {{5 * PAGE, 6 * PAGE, 0},
				     {10 * PAGE, 12 * PAGE, PAGE},
				     {12 * PAGE, 13 * PAGE, 4 * PAGE},
				     {19 * PAGE, 31 * PAGE, 8 * PAGE}};
	const struct jit_rows rows = {.pieces = pieces, .count = ARRAY_SIZE(pieces)};
	const struct expected expected[] = {
		{8, 10, SPAN_BARE},  {10, 12, SPAN_TABLE}, {12, 13, SPAN_TABLE},
		{13, 19, SPAN_BARE}, {19, 20, SPAN_TABLE}, {30, 31, SPAN_TABLE},
	};
	const struct image_rows given = {
		.machine = 62 /* EM_X86_64 */, .bytes = 20ull * PAGE, .give = give_one};
	struct arena *arena = arena_make();
	struct address_space *space = space_of(mapped, 2);
	struct runtime_place found[RUNTIMES];
	struct table_image image;
	struct tables *tables;
	struct spans *spans;

	(void)state;
	assert_int_equal(tables_new(&tables, NULL, NULL, NULL), 0);
	tables_set_arena(tables, arena);
	assert_int_equal(image_of_rows(&given, &image), 0);
	struct table *table = tables_give(tables, &image);
	assert_non_null(table);
	assert_true(table_is_there(table));
	struct spans_of of = {.space = space, .pid = 1, .made = {{&rows, table}}};
	assert_int_equal(spans_write(&spans, arena, tables, &of, found), 0);
	assert_true(spans->has_made);
	assert_int_equal(spans->count, ARRAY_SIZE(expected));
	const struct span *written = (const struct span *)arena_words(arena, spans->start);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_int_equal(written[i].start, expected[i].from * PAGE);
		assert_int_equal(written[i].end, expected[i].to * PAGE);
		assert_int_equal(written[i].what >> SPAN_KIND_SHIFT & SPAN_KIND_MASK,
				 expected[i].kind);
	}
	assert_int_equal(written[1].base, 10 * PAGE - PAGE); /* pc - base is the table's address */
	assert_int_equal(written[5].start - written[5].base, (8 + 30 - 19) * PAGE);
	spans_unref(spans);
	tables_set_arena(tables, NULL);
	assert_false(table_is_there(table));
	table_unref(table);
	image_done(&image);
	address_space_free(space);
	tables_free(tables);
	arena_free(arena);
}

/* What a process tells debuggers counts where both that and its jitdump have rows. */
static void rows_of_two_sources_share_a_mapping(void **state)
{
	static const struct range mapped = {10, 20};
	struct jit_piece first[] = {{12 * PAGE, 14 * PAGE, 0}};
	struct jit_piece second[] = {{11 * PAGE, 13 * PAGE, 0}, {15 * PAGE, 16 * PAGE, 4 * PAGE}};
	const struct jit_rows rows[] = {{.pieces = first, .count = 1},
					{.pieces = second, .count = 2}};
	const struct expected expected[] = {
		{10, 11, SPAN_BARE}, {11, 12, SPAN_TABLE}, {12, 14, SPAN_TABLE},
		{14, 15, SPAN_BARE}, {15, 16, SPAN_TABLE}, {16, 20, SPAN_BARE},
	};
	const struct image_rows given = {
		.machine = 62 /* EM_X86_64 */, .bytes = 20ull * PAGE, .give = give_one};
	struct arena *arena = arena_make();
	struct address_space *space = space_of(&mapped, 1);
	struct runtime_place found[RUNTIMES];
	struct table_image image;
	struct tables *tables;
	struct spans *spans;

	(void)state;
	assert_int_equal(tables_new(&tables, NULL, NULL, NULL), 0);
	tables_set_arena(tables, arena);
	assert_int_equal(image_of_rows(&given, &image), 0);
	struct table *table = tables_give(tables, &image), *other = tables_give(tables, &image);
	struct spans_of of = {
		.space = space, .pid = 1, .made = {{&rows[0], table}, {&rows[1], other}}};
	assert_int_equal(spans_write(&spans, arena, tables, &of, found), 0);
	assert_int_equal(spans->count, ARRAY_SIZE(expected));
	const struct span *written = (const struct span *)arena_words(arena, spans->start);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_int_equal(written[i].start, expected[i].from * PAGE);
		assert_int_equal(written[i].end, expected[i].to * PAGE);
		assert_int_equal(written[i].what >> SPAN_KIND_SHIFT & SPAN_KIND_MASK,
				 expected[i].kind);
	}
	assert_int_equal(written[1].base, 11 * PAGE); /* pc - base is the table's address */
	assert_int_equal(written[2].base, 12 * PAGE);
	assert_int_equal(written[4].base, (15 - 4) * PAGE);
	spans_unref(spans);
	tables_set_arena(tables, NULL);
	table_unref(table);
	table_unref(other);
	image_done(&image);
	address_space_free(space);
	tables_free(tables);
	arena_free(arena);
}

/* A VM that claims the memory of a file is not believed. */
static void what_is_a_files_is_no_cache(void **state)
{
	struct mapping mapping = {.start = 10 * PAGE, .end = 12 * PAGE, .kind = MAPPING_FILE};
	struct symbol_file *file = symbol_file_nameless("/lib");
	const struct range heap = {8, 20};
	const struct hotspot hotspot = hotspot_of(&heap, 1);
	struct arena *arena = arena_make();
	struct runtime_place found[RUNTIMES];
	struct tables *tables;
	struct spans *spans;
	struct address_space *space;

	(void)state;
	assert_int_equal(tables_new(&tables, NULL, NULL, NULL), 0);
	assert_int_equal(address_space_new(&space), 0);
	assert_int_equal(address_space_update(
				 space, &(struct maps){.mappings = &mapping, .count = 1}, &file, 1),
			 0);
	struct spans_of of = {.space = space, .pid = 1, .hotspot = &hotspot};
	assert_int_equal(spans_write(&spans, arena, tables, &of, found), 0);
	assert_int_equal(spans->count, 1);
	assert_int_equal(spans->runtimes[RUNTIME_JAVA].walk, 0);
	spans_unref(spans);
	address_space_free(space);
	tables_free(tables);
	arena_free(arena);
}

static void another_vm_makes_other_spans(void **state)
{
	static const struct range mapped[] = {{10, 11}}, heap = {10, 20};
	struct hotspot hotspot = hotspot_of(&heap, 1);
	struct arena *arena = arena_make();
	struct address_space *space = space_of(mapped, 1);
	struct spans_of of = {.space = space, .pid = 1, .hotspot = &hotspot};
	struct runtime_place found[RUNTIMES];
	struct spans *first, *same, *other;

	(void)state;
	assert_int_equal(spans_write(&first, arena, NULL, &of, found), 0);
	assert_int_equal(spans_write(&same, arena, NULL, &of, found), 0);
	hotspot.carrier_to = 5; /* its first virtual thread */
	assert_int_equal(spans_write(&other, arena, NULL, &of, found), 0);
	assert_true(spans_are_equal(first, same));
	assert_false(spans_are_equal(first, other));
	spans_unref(first);
	spans_unref(same);
	spans_unref(other);
	address_space_free(space);
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heaps_in_a_row_are_one_span_for_all_that_is_reserved),
		cmocka_unit_test(heaps_apart_are_spans_of_their_own),
		cmocka_unit_test(code_beside_the_cache_in_one_mapping_stays_bare),
		cmocka_unit_test(what_begins_or_ends_in_the_cache_is_cut),
		cmocka_unit_test(without_a_vm_code_is_bare),
		cmocka_unit_test(made_code_with_rows_is_cut_out_of_its_mapping),
		cmocka_unit_test(rows_of_two_sources_share_a_mapping),
		cmocka_unit_test(what_is_a_files_is_no_cache),
		cmocka_unit_test(another_vm_makes_other_spans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
