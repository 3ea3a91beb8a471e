// SPDX-License-Identifier: GPL-2.0-or-later
/* Stacks of a Python process, from words to what each subscriber gets: files without names, code
 * objects made by hand. */
#include "unit/lib/unit.h"

#include <string.h>

#include "unit/lib/buf_text.h"
#include "container/container.h"
#include "output/format/output.h"
#include "window/batch_state.h"
#include "profile/by_container.h"
#include "code/code_python.h"
#include "code/code_cache_state.h"
#include "runtime/interpreter.h"
#include "mappings/address_space.h"
#include "symbol/perfmap_state.h"
#include "python/pycode_state.h"

#define LIBPYTHON 0x10000 /* its loop: the first 256 bytes */
#define LIBRARY	  0x20000
#define MADE	  0x30000
#define NOWHERE	  0x90000
#define BEGUN	  0xffffffff /* an instruction: the function's own line */

static struct {
	struct symbol_files *files;
	struct symbol_file *libpython, *library;
	struct interpreter *interpreter;
	struct target target;
	struct code_cache known;
	struct process_code process;
	struct pycode *codes[4]; /* at the addresses 1, 2, 3, with these sums */
	struct stack_cache *stack_cache;
	struct batch *batch;
	struct profile *profile;
	struct batch_added added;
} test;

static struct pycode *make_code(const char *name, const char *file, int line)
{
	struct pycode *code = calloc(1, sizeof(*code));
	size_t bytes = strlen(name) + strlen(file) + 1;
	char *text = calloc(1, bytes);

	assert_non_null(code);
	assert_non_null(text);
	snprintf(text, bytes, "%s%s", name, file);
	*code = (struct pycode){
		.refs = 1,
		.bytes = sizeof(*code),
		.name_len = (uint32_t)strlen(name),
		.file_len = (uint32_t)strlen(file),
		.unit_bytes = 1,
		.not_begun = -1,
		.lines_known = true,
		.lines = {.table = (const uint8_t *)text, .first_line = line},
	};
	return code;
}

static void map_all(void)
{
	struct mapping mappings[] = {
		{.start = LIBPYTHON, .end = LIBPYTHON + 0x1000, .kind = MAPPING_FILE},
		{.start = LIBRARY, .end = LIBRARY + 0x1000, .kind = MAPPING_FILE},
		{.start = MADE, .end = MADE + 0x1000, .kind = MAPPING_JIT},
	};
	struct symbol_file *files[] = {symbol_file_ref(test.libpython),
				       symbol_file_ref(test.library), NULL};
	struct maps maps = {.mappings = mappings, .count = ARRAY_SIZE(mappings)};

	assert_int_equal(address_space_new(&test.target.space), 0);
	assert_int_equal(address_space_update(test.target.space, &maps, files, 1), 0);
}

static int set_up(void **state)
{
	static const struct stack_cache_limits limits = {1000, 10000, 1 << 20};

	(void)state;
	memset(&test, 0, sizeof(test));
	assert_int_equal(symbol_files_new(&test.files, NULL), 0);
	test.libpython = symbol_file_nameless("/lib/libpython");
	test.library = symbol_file_nameless("/lib/libc");
	test.interpreter = calloc(1, sizeof(*test.interpreter));
	test.interpreter->runtime.refs = 1;
	test.interpreter->runtime.file = symbol_file_ref(test.libpython);
	test.interpreter->found.loop[0] = (struct cpython_range){0, 256};
	test.interpreter->found.loop_count = 1;
	test.target = (struct target){.pid = 7, .comm = "app"};
	test.target.runtimes[RUNTIME_PYTHON].known = &test.interpreter->runtime;
	test.codes[1] = make_code("f", "a.py", 10);
	test.codes[2] = make_code("C.g", "a.py", 20);
	test.codes[3] = make_code("<module>", "b.py", 1);
	test.known =
		(struct code_cache){.kind = &code_kind_python, .bytes_max = 1 << 20, .window = 1};
	assert_int_equal(
		map_new(&test.known.contents, sizeof(uint64_t), sizeof(struct known_code *), 16),
		0);
	test.process = (struct process_code){.cache = &test.known};
	test.target.code_known[CODES_PYTHON] = &test.process;
	for (size_t i = 1; i < ARRAY_SIZE(test.codes); i++) {
		struct code_key key = {i, i};

		assert_int_equal(code_layer_add(&test.process, &key, pycode_ref(test.codes[i])), 0);
	}
	map_all();
	assert_int_equal(stack_cache_new(&test.stack_cache, &limits), 0);
	assert_int_equal(batch_new(&test.batch), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	batch_free(test.batch);
	profile_unref(test.profile);
	stack_cache_free(test.stack_cache);
	address_space_free(test.target.space);
	code_layer_unref(test.process.layer);
	map_free(test.known.contents);
	for (size_t i = 1; i < ARRAY_SIZE(test.codes); i++) {
		assert_int_equal(test.codes[i]->refs, 1); /* the batch's are given back */
		free((void *)test.codes[i]->lines.table);
		pycode_unref(test.codes[i]);
	}
	assert_int_equal(test.interpreter->runtime.refs, 1);
	interpreter_unref(test.interpreter);
	symbol_file_unref(test.libpython);
	symbol_file_unref(test.library);
	symbol_files_free(test.files);
	return 0;
}

#define WORD(kind, address) ((uint64_t)(kind) << FRAME_KIND_SHIFT | (address))
#define NATIVE(address)	    WORD(FRAME_NATIVE_RETURN, (address) + 1)
#define LOOP		    NATIVE(LIBPYTHON + 16)
#define OWN		    NATIVE(LIBPYTHON + 0x800)
#define C		    NATIVE(LIBRARY + 8)
#define PYTHON(kind, n)	    WORD(kind, n), (uint64_t)(n) << 32 | BEGUN
#define FRAME(n)	    PYTHON(FRAME_PYTHON, n)
#define ENTRY(n)	    PYTHON(FRAME_PYTHON_ENTRY, n)
#define EMPTY		    WORD(FRAME_PYTHON_ENTRY, 0), 0

static void add(const uint64_t *words, size_t count, enum truncation truncated, enum python_end end)
{
	struct stack stack = {
		.key = {.hash = count, .tgid = 7, .probe = PROBE_ONCPU},
		.time_ns = 2,
		.words_count = (uint16_t)count,
		.truncated = truncated,
		.python = end,
	};
	struct counted counted = {.count = {.weight = 1, .samples = 1, .events = 1}};

	assert_int_equal(batch_add(test.batch, &stack, words, &test.target, 1, &counted, test.files,
				   &test.added),
			 0);
}
#define ADD(truncated, end, ...)                                                                   \
	add((const uint64_t[]){__VA_ARGS__}, ARRAY_SIZE(((const uint64_t[]){__VA_ARGS__})),        \
	    truncated, end)

/* What a subscriber with that detail gets, as folded text. */
static void assert_shown(const struct stack_detail *detail, const char *expected)
{
	_cleanup_buf_ struct buf out = BUF_INIT(1 << 20);
	struct symbolizer *symbolizer;
	struct batch_result result = {0};
	struct profile_meta meta = {.title = ""};

	assert_int_equal(profile_new(&test.profile, PROBE_ONCPU, 1, 0), 0);
	struct sink sink = {.bit = 1, .detail = *detail, .profile = profile_ref(test.profile)};
	assert_int_equal(batch_add_sink(test.batch, &sink), 0);
	assert_int_equal(symbolizer_new(&symbolizer), 0);
	batch_name(test.batch, symbolizer, test.stack_cache, 2, &result);
	symbolizer_free(symbolizer);
	assert_int_equal(result.refused, 0);
	assert_int_equal(folded_write(test.profile->tree, TREE_ROOT, &meta, &out), 0);
	_cleanup_free_ char *text = take_text(&out, NULL);
	assert_string_equal(text ? text : "", expected);
}

static const struct stack_detail plain = {0};
static const struct stack_detail native = {.native_stack = true};
static const struct stack_detail by_name = {.frames = FRAME_DETAIL_NAME};

static void the_interpreters_own_frames_are_for_native_stack(void **state)
{
	(void)state;
	ADD(TRUNCATED_NOT, PYTHON_WHOLE, C, LOOP, OWN, C, LOOP, OWN, C, ENTRY(1), FRAME(2),
	    ENTRY(3));
	assert_int_equal(test.added.truncated, TRUNCATED_NOT);
	assert_shown(&plain, "[7]app;[libc];<module> (b.py:1)_[p];C.g (a.py:20)_[p];[libc];"
			     "f (a.py:10)_[p];[libc] 1\n");
}

static void native_stack_shows_them_all(void **state)
{
	(void)state;
	ADD(TRUNCATED_NOT, PYTHON_WHOLE, C, LOOP, OWN, C, LOOP, OWN, C, ENTRY(1), FRAME(2),
	    ENTRY(3));
	assert_shown(&native,
		     "[7]app;[libc];[libpython];[libpython];<module> (b.py:1)_[p];"
		     "C.g (a.py:20)_[p];[libc];[libpython];[libpython];f (a.py:10)_[p];[libc] 1\n");
}

static void by_name_stacks_of_other_lines_are_one(void **state)
{
	(void)state;
	ADD(TRUNCATED_NOT, PYTHON_WHOLE, LOOP, WORD(FRAME_PYTHON_ENTRY, 1), 1ULL << 32 | BEGUN);
	ADD(TRUNCATED_NOT, PYTHON_WHOLE, LOOP, WORD(FRAME_PYTHON_ENTRY, 1), 1ULL << 32 | 500);
	assert_shown(&by_name, "[7]app;f (a.py)_[p] 2\n");
}

static void without_python_frames_nothing_is_hidden(void **state)
{
	(void)state;
	ADD(TRUNCATED_NOT, PYTHON_NONE, OWN, LOOP, NATIVE(MADE), C);
	ADD(TRUNCATED_NOT, PYTHON_WHOLE, LOOP, C, EMPTY);
	assert_shown(&plain, "[7]app;[libc];[jit]_[j];[libpython];[libpython] 1\n"
			     "[7]app;[libc];[libpython] 1\n");
}

static void what_is_not_known_of_python_has_a_frame_all_the_same(void **state)
{
	(void)state;
	ADD(TRUNCATED_NOT, PYTHON_WHOLE, LOOP, FRAME(1), WORD(FRAME_PYTHON, 1), 77ULL << 32,
	    ENTRY(99));
	assert_shown(&native, "[7]app;[libpython];[python]_[p];[python]_[p];f (a.py:10)_[p] 1\n");
}

static void trampolines_are_left_out(void **state)
{
	(void)state;
	ADD(TRUNCATED_NOT, PYTHON_WHOLE, LOOP, NATIVE(MADE), OWN, ENTRY(1));
	assert_shown(&native, "[7]app;[libpython];[libpython];f (a.py:10)_[p] 1\n");
}

static void a_deep_stack_goes_on_without_native_frames(void **state)
{
	(void)state;
	ADD(TRUNCATED_DEPTH, PYTHON_WHOLE, C, LOOP, OWN, ENTRY(1), ENTRY(2), ENTRY(3));
	assert_int_equal(test.added.truncated, TRUNCATED_NOT);
	assert_shown(&plain, "[7]app;<module> (b.py:1)_[p];C.g (a.py:20)_[p];f (a.py:10)_[p];"
			     "[libc] 1\n");
}

static void what_lies_nowhere_ends_the_native_frames_only(void **state)
{
	(void)state;
	ADD(TRUNCATED_NOT, PYTHON_WHOLE, LOOP, NATIVE(NOWHERE), LOOP, ENTRY(1), ENTRY(3));
	assert_int_equal(test.added.truncated, TRUNCATED_ADDRESS);
	assert_shown(&plain, "[7]app;[truncated];<module> (b.py:1)_[p];f (a.py:10)_[p] 1\n");
}

static void a_python_chain_that_is_cut_is_truncated(void **state)
{
	(void)state;
	ADD(TRUNCATED_NOT, PYTHON_MEMORY, LOOP, C, FRAME(1));
	assert_int_equal(test.added.truncated, TRUNCATED_PYTHON);
	ADD(TRUNCATED_NOT, PYTHON_DEPTH, LOOP, C, FRAME(2));
	assert_int_equal(test.added.truncated, TRUNCATED_PYTHON_DEPTH);
	assert_shown(&plain, "[7]app;[truncated];[libc];C.g (a.py:20)_[p] 1\n"
			     "[7]app;[truncated];[libc];f (a.py:10)_[p] 1\n");
}

/* The last word of a pair may be missing, natives stand behind Python's frames: nothing is read
 * that isn't there. */
static void odd_words_are_no_frames(void **state)
{
	(void)state;
	ADD(TRUNCATED_NOT, PYTHON_WHOLE, LOOP, ENTRY(1), WORD(FRAME_PYTHON, 2));
	assert_shown(&plain, "[7]app;f (a.py:10)_[p] 1\n");
}

/* The marker is a frame, too, and lies in no library. */
static void library_frames_are_counted_from_the_root(void **state)
{
	_cleanup_free_ struct record *list = NULL;

	(void)state;
	address_space_set_program(test.target.space, test.libpython);
	ADD(TRUNCATED_MEMORY, PYTHON_NONE, OWN, C, OWN);
	assert_shown(&native, "[7]app;[truncated];[libpython];[libc];[libpython] 1\n");
	assert_int_equal(records_list(test.profile->records, &list), 1);
	assert_int_equal(list[0].libraries.bytes, 1);
	assert_int_equal(list[0].libraries.bits[0], 1 << 2);
	assert_int_equal(test.profile->samples, 1);
}

/* Names that come swap the target's container, while the batch is on its way. */
static void a_batch_has_the_container_that_was_known_when_it_was_made(void **state)
{
	struct container_place place = {.id = "0123456789abcdef"};
	struct profile *sorted;

	(void)state;
	assert_int_equal(container_new(&test.target.container, &place, "", "", "", ""), 0);
	test.target.ns_pid = 1;
	ADD(TRUNCATED_NOT, PYTHON_WHOLE, C);
	container_unref(test.target.container);
	test.target.container = NULL;
	assert_shown(&native, "[7]app;[libc] 1\n");
	batch_free(test.batch);
	test.batch = NULL;
	assert_int_equal(profile_by_container(&sorted, test.profile, true), 0);
	struct frame frame = tree_frame_of(sorted->tree, 1);
	assert_int_equal(frame.type, FRAME_TYPE_CONTAINER);
	assert_string_equal(frame.name, "[Con]0123456789ab");
	profile_unref(sorted);
}

static size_t asked_of(pid_t pid)
{
	struct perfmap_process process = {.pid = pid};

	return perfmap_of(test.files, &process)->answers.count;
}

/* Frames of one place share a spot, which is named once; made code is asked for once in each
 * process. */
static void a_place_of_many_frames_is_one_spot(void **state)
{
	(void)state;
	ADD(TRUNCATED_NOT, PYTHON_NONE, C, C, OWN);
	assert_int_equal(test.batch->spots_count, 2);
	ADD(TRUNCATED_NOT, PYTHON_NONE, OWN, C);
	assert_int_equal(test.batch->spots_count, 2);
	ADD(TRUNCATED_NOT, PYTHON_NONE, NATIVE(MADE), C, NATIVE(MADE), NATIVE(MADE + 8));
	assert_int_equal(test.batch->spots_count, 4);
	ADD(TRUNCATED_NOT, PYTHON_NONE, NATIVE(MADE), C, C, C, C);
	assert_int_equal(test.batch->spots_count, 4);
	assert_int_equal(asked_of(7), 2);
	test.target.pid = 8; /* its code at that address is its own */
	ADD(TRUNCATED_NOT, PYTHON_NONE, C, NATIVE(MADE), NATIVE(MADE), C, OWN, C);
	assert_int_equal(test.batch->spots_count, 5);
	assert_int_equal(asked_of(7), 2);
	assert_int_equal(asked_of(8), 1);
	test.target.pid = 7;
}

#define CHAIN  7
#define CHAINS 2187 /* of 3 functions: 3^7 */

/* Names all chains, so many in a batch, into one profile; returns it as folded text. */
static char *named_by(unsigned at_once)
{
	_cleanup_buf_ struct buf out = BUF_INIT(1 << 20);
	struct symbolizer *symbolizer;
	struct batch_result result = {0};
	struct profile_meta meta = {.title = ""};

	profile_unref(test.profile);
	assert_int_equal(profile_new(&test.profile, PROBE_ONCPU, 1, 0), 0);
	assert_int_equal(symbolizer_new(&symbolizer), 0);
	for (unsigned i = 0; i < CHAINS; i += at_once) {
		struct sink sink = {.bit = 1, .profile = profile_ref(test.profile)};

		batch_free(test.batch);
		assert_int_equal(batch_new(&test.batch), 0);
		for (unsigned k = i; k < i + at_once && k < CHAINS; k++) {
			uint64_t words[1 + 2 * CHAIN] = {LOOP};

			for (unsigned f = 0, rest = k * 1000 % CHAINS; f < CHAIN; f++, rest /= 3) {
				words[1 + 2 * f] =
					WORD(f + 1 < CHAIN ? FRAME_PYTHON : FRAME_PYTHON_ENTRY,
					     rest % 3 + 1);
				words[2 + 2 * f] = (uint64_t)(rest % 3 + 1) << 32 | BEGUN;
			}
			add(words, ARRAY_SIZE(words), TRUNCATED_NOT, PYTHON_WHOLE);
		}
		assert_int_equal(batch_add_sink(test.batch, &sink), 0);
		batch_name(test.batch, symbolizer, test.stack_cache, 2, &result);
	}
	symbolizer_free(symbolizer);
	assert_int_equal(result.refused, 0);
	assert_int_equal(test.profile->weight, CHAINS);
	assert_int_equal(folded_write(test.profile->tree, TREE_ROOT, &meta, &out), 0);
	return take_text(&out, NULL);
}

static void many_stacks_are_named_as_few_are(void **state)
{
	_cleanup_free_ char *few = named_by(100), *many = named_by(CHAINS);
	unsigned lines = 0;

	(void)state;
	for (const char *c = many; *c; c++)
		lines += *c == '\n';
	assert_int_equal(lines, CHAINS);
	assert_string_equal(many, few);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(the_interpreters_own_frames_are_for_native_stack),
		TEST(native_stack_shows_them_all),
		TEST(by_name_stacks_of_other_lines_are_one),
		TEST(without_python_frames_nothing_is_hidden),
		TEST(what_is_not_known_of_python_has_a_frame_all_the_same),
		TEST(trampolines_are_left_out),
		TEST(a_deep_stack_goes_on_without_native_frames),
		TEST(what_lies_nowhere_ends_the_native_frames_only),
		TEST(a_python_chain_that_is_cut_is_truncated),
		TEST(odd_words_are_no_frames),
		TEST(library_frames_are_counted_from_the_root),
		TEST(a_place_of_many_frames_is_one_spot),
		TEST(many_stacks_are_named_as_few_are),
		TEST(a_batch_has_the_container_that_was_known_when_it_was_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
