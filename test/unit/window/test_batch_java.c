// SPDX-License-Identifier: GPL-2.0-or-later
/* Stacks of a Java VM, from words to what each subscriber gets: files without names. */
#include "unit/java/code/made_jvmcode.h"
#include "unit/lib/unit.h"
#include "unit/lib/buf_text.h"

#include "output/format/output.h"
#include "window/batch.h"
#include "code/code_java.h"
#include "code/code_cache_state.h"
#include "heap/live_sums.h"
#include "runtime/jvm.h"
#include "mappings/address_space.h"

static struct {
	struct loop *loop;
	struct worker *worker;
	struct target_table *table;
	struct code_cache *codes;
	struct symbol_files *files;
	struct symbol_file *libjvm, *libc;
	struct target *target;
	struct jvm *jvm;
	struct stack_cache *stack_cache;
	struct batch *batch;
	struct profile *profile;
	struct batch_result result;
	struct batch_added added;
} test;

static void map_all(struct address_space *space)
{
	struct mapping mappings[] = {
		{.start = LIBJVM, .end = LIBJVM + 0x1000, .kind = MAPPING_FILE},
		{.start = LIBC, .end = LIBC + 0x1000, .kind = MAPPING_FILE},
		{.start = MADE, .end = MADE + 0x1000, .kind = MAPPING_JIT},
	};
	struct symbol_file *files[] = {symbol_file_ref(test.libjvm), symbol_file_ref(test.libc),
				       NULL};
	struct maps maps = {.mappings = mappings, .count = ARRAY_SIZE(mappings)};

	assert_int_equal(address_space_update(space, &maps, files, 1), 0);
}

static int set_up(void **state)
{
	static const struct stack_cache_limits limits = {1000, 10000, 1 << 20};
	struct target like = {.pid = 7, .id = 7, .comm = "app"};

	(void)state;
	memset(&test, 0, sizeof(test));
	assert_int_equal(loop_new(&test.loop), 0);
	assert_int_equal(worker_new(&test.worker, test.loop, "test", NS_PER_S), 0);
	assert_int_equal(target_table_new(&test.table, 4), 0);
	target_table_keep_code(test.table, &code_cache_ops);
	assert_int_equal(code_cache_new(&test.codes, test.loop, test.worker, test.table,
					&code_kind_java, 1 << 20),
			 0);
	assert_int_equal(symbol_files_new(&test.files, NULL), 0);
	test.libjvm = symbol_file_nameless("/lib/libjvm");
	test.libc = symbol_file_nameless("/lib/libc");
	test.jvm = calloc(1, sizeof(*test.jvm));
	test.jvm->runtime.refs = 1;
	test.jvm->runtime.file = symbol_file_ref(test.libjvm);
	like.runtimes[RUNTIME_JAVA].known = &test.jvm->runtime;
	test.target = target_table_add(test.table, &like);
	assert_non_null(test.target);
	map_all(test.target->space);
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
	worker_stop(test.worker);
	loop_flush(test.loop);
	target_table_free(test.table);
	code_cache_free(test.codes);
	worker_free(test.worker);
	loop_free(test.loop);
	symbol_file_unref(test.libjvm);
	symbol_file_unref(test.libc);
	symbol_files_free(test.files);
	assert_int_equal(live, 0);
	return 0;
}

#define WORD(kind, address) ((uint64_t)(kind) << FRAME_KIND_SHIFT | (address))
#define NATIVE(address)	    WORD(FRAME_NATIVE_RETURN, (address) + 1)
#define VM		    NATIVE(LIBJVM + 16)
#define C		    NATIVE(LIBC + 8)
#define KERNEL		    WORD(FRAME_KERNEL, 0x1000)
#define JIT(pc)		    WORD(FRAME_JAVA_RETURN, MADE + (pc))
#define LEAF(pc)	    WORD(FRAME_JAVA, MADE + (pc))
#define METHOD		    WORD(FRAME_JAVA_METHOD, 0x5000)
#define ID(id)		    hotspot_detail(FRAME_JAVA_DETAIL, HOTSPOT_BCI_NONE, id)
#define BCI(bci, id)	    hotspot_detail(FRAME_JAVA_DETAIL, bci, id)
#define STUB		    ID(0)

static void stop(void *arg)
{
	loop_stop(arg);
}

static void add_of(enum probe probe, const uint64_t *words, size_t count, enum truncation truncated)
{
	struct stack stack = {
		.key = {.hash = count, .tgid = 7, .probe = probe},
		.target_id = 7,
		.time_ns = 2,
		.words_count = (uint16_t)count,
		.truncated = truncated,
	};
	struct counted counted = {
		.key = {.stack = stack.key, .tid = 7},
		.count = {.weight = 1, .samples = 1, .events = 1},
	};

	code_cache_want(test.codes, test.target, words, count);
	code_cache_flush(test.codes);
	assert_int_equal(worker_fence(test.worker, NULL, stop, test.loop), 0);
	assert_int_equal(loop_run(test.loop), 0);
	assert_int_equal(batch_add(test.batch, &stack, words, test.target, 1, &counted, test.files,
				   &test.added),
			 0);
}
#define ADD(...)                                                                                   \
	add_of(PROBE_ONCPU, (const uint64_t[]){__VA_ARGS__},                                       \
	       ARRAY_SIZE(((const uint64_t[]){__VA_ARGS__})), TRUNCATED_NOT)

static void assert_folded(const struct profile *profile, const char *expected)
{
	_cleanup_buf_ struct buf out = BUF_INIT(1 << 20);
	struct profile_meta meta = {.title = ""};

	assert_int_equal(folded_write(profile->tree, TREE_ROOT, &meta, &out), 0);
	_cleanup_free_ char *text = take_text(&out, NULL);
	assert_string_equal(text ? text : "", expected);
}

static void name_batch(enum probe probe, const struct stack_detail *detail)
{
	struct symbolizer *symbolizer;

	assert_int_equal(profile_new(&test.profile, probe, 1, 0), 0);
	struct sink sink = {.bit = 1, .detail = *detail, .profile = profile_ref(test.profile)};
	assert_int_equal(batch_add_sink(test.batch, &sink), 0);
	assert_int_equal(symbolizer_new(&symbolizer), 0);
	test.result = (struct batch_result){0};
	batch_name(test.batch, symbolizer, test.stack_cache, 2, &test.result);
	symbolizer_free(symbolizer);
	assert_int_equal(test.result.refused, 0);
}

/* What a subscriber with that detail gets, as folded text. */
static void assert_shown(const struct stack_detail *detail, const char *expected)
{
	name_batch(PROBE_ONCPU, detail);
	assert_folded(test.profile, expected);
}

static const struct stack_detail plain = {0};
static const struct stack_detail native = {.native_stack = true};
static const struct stack_detail by_name = {.frames = FRAME_DETAIL_NAME};
static const struct stack_detail by_signature = {.frames = FRAME_DETAIL_SIGNATURE};

/* The VM at the leaf, between and at the root; its stub at the root. */
#define A_STACK                                                                                    \
	KERNEL, C, VM, LEAF(0), VM, C, METHOD, JIT(0x20), VM, C, ID(RUN), BCI(12, MAIN), STUB

static void the_vms_own_frames_are_for_native_stack(void **state)
{
	(void)state;
	ADD(A_STACK);
	assert_int_equal(test.added.truncated, TRUNCATED_NOT);
	assert_shown(&plain, "[7]app;[libc];a.Main.main (Main.java:12)_[0];[libc];"
			     "a.Work.run (Work.java:30)_[j];[libjvm];[libc];[kernel]_[k] 1\n");
}

static void native_stack_shows_them_all(void **state)
{
	(void)state;
	ADD(A_STACK);
	assert_shown(&native,
		     "[7]app;[libc];[libjvm];call_stub_[j];a.Main.main (Main.java:12)_[0];[libc];"
		     "[libjvm];a.Work.run (Work.java:30)_[j];[libjvm];[libc];[kernel]_[k] 1\n");
}

static void a_stub_at_the_leaf_stays(void **state)
{
	(void)state;
	ADD(LEAF(0x20), JIT(0), JIT(0x40), VM, STUB, ID(RUN), STUB);
	assert_shown(&plain, "[7]app;a.Work.run (Work.java:30)_[j];call_stub_[j] 1\n");
}

static void inlined_methods_have_frames_of_their_own(void **state)
{
	(void)state;
	ADD(LEAF(0x100), METHOD, C, ID(RUN), BCI(1, MAIN));
	ADD(LEAF(0x108), METHOD, C, ID(RUN), BCI(1, MAIN));
	assert_shown(&plain, "[7]app;[libc];a.Main.main (Main.java:1)_[0];"
			     "a.Work.run (Work.java:30)_[j];a.Map.get (Map.java:5)_[i];"
			     "a.Map.put (Map.java:5)_[i] 2\n");
	assert_int_equal(test.result.inline_unknown, 0);
}

static void where_it_isnt_known_what_is_inlined_it_is_counted(void **state)
{
	(void)state;
	ADD(LEAF(0x200), JIT(0x10), ID(RUN), ID(RUN));
	ADD(LEAF(0x200), JIT(0x210), ID(RUN), ID(RUN));
	assert_true(test.added.inline_unknown);
	ADD(LEAF(0), ID(RUN));
	assert_false(test.added.inline_unknown);
	assert_shown(&plain, "[7]app;a.Work.run (Work.java)_[j];a.Work.run (Work.java)_[j] 1\n"
			     "[7]app;a.Work.run (Work.java:30)_[j] 1\n"
			     "[7]app;a.Work.run (Work.java:30)_[j];a.Work.run (Work.java)_[j] 1\n");
	assert_int_equal(test.result.inline_unknown, 2);
}

static void lines_and_files_are_left_out_of_names(void **state)
{
	(void)state;
	ADD(METHOD, JIT(0), BCI(12, MAIN), ID(RUN));
	ADD(METHOD, JIT(0), BCI(13, MAIN), ID(RUN));
	assert_shown(&by_name, "[7]app;a.Work.run_[j];a.Main.main_[0] 2\n");
}

static void signatures_tell_methods_of_one_name_apart(void **state)
{
	(void)state;
	ADD(METHOD, JIT(0x100), JIT(0), BCI(12, MAIN), ID(RUN), ID(BARE));
	assert_shown(&by_signature,
		     "[7]app;a.Bare.f_[j];a.Work.run()_[j];a.Map.get(java.lang.Object)_[i];"
		     "a.Map.put(java.lang.Object)_[i];a.Main.main(java.lang.String[])_[0] 1\n");
}

static void code_that_is_gone_has_a_frame_all_the_same(void **state)
{
	struct code_cache_stats stats;

	(void)state;
	ADD(LEAF(0), METHOD, JIT(0), JIT(0), ID(LOST), BCI(0, LOST), ID(LOST), ID(RUN));
	code_cache_stats(test.codes, &stats);
	assert_int_equal(stats.lost[CODE_LOST_CHANGED], 2); /* both kinds have ids of their own */
	assert_shown(&plain,
		     "[7]app;a.Work.run (Work.java:30)_[j];[java]_[j];[java]_[0];[java]_[j] 1\n");
}

static void the_vms_own_threads_are_one_frame(void **state)
{
	(void)state;
	ADD(KERNEL, C, VM, VM, C);
	ADD(LEAF(0), VM, C, STUB);
	ADD(C, C);
	assert_shown(&plain, "[7]app;[jvm] 2\n[7]app;[libc];[libc] 1\n");
}

static void with_native_stack_they_are_what_they_are(void **state)
{
	(void)state;
	ADD(KERNEL, C, VM, C);
	assert_shown(&native, "[7]app;[libc];[libjvm];[libc];[kernel]_[k] 1\n");
}

/* It may have Java methods that aren't seen. */
static void of_others_with_the_vm_nothing_is_hidden(void **state)
{
	static const uint64_t words[] = {C, VM};

	(void)state;
	add_of(PROBE_ONCPU, words, 2, TRUNCATED_MEMORY);
	ADD(NATIVE(MADE), VM, C);
	assert_shown(&plain, "[7]app;[libc];[libjvm];[jit]_[j] 1\n"
			     "[7]app;[truncated];[libjvm];[libc] 1\n");
}

static void a_vm_that_isnt_supported_is_any_program(void **state)
{
	(void)state;
	test.jvm->runtime.error = -ENOTSUP;
	ADD(C, VM, C);
	assert_shown(&plain, "[7]app;[libc];[libjvm];[libc] 1\n");
}

static void what_lies_nowhere_ends_the_stack(void **state)
{
	(void)state;
	ADD(LEAF(0), NATIVE(NOWHERE), JIT(0), ID(RUN), ID(RUN));
	assert_int_equal(test.added.truncated, TRUNCATED_ADDRESS);
	assert_shown(&plain, "[7]app;[truncated];a.Work.run (Work.java:30)_[j] 1\n");
}

/* A word without its detail: nothing is read that isn't there. */
static void odd_words_are_no_frames(void **state)
{
	(void)state;
	ADD(LEAF(0), JIT(0), ID(RUN));
	assert_int_equal(test.added.truncated, TRUNCATED_JAVA);
	ADD(LEAF(0));
	assert_int_equal(test.added.truncated, TRUNCATED_JAVA);
	ADD(ID(RUN), LEAF(0));
	assert_shown(&plain, "[7]app;[truncated];[unknown] 1\n"
			     "[7]app;[truncated];a.Work.run (Work.java:30)_[j] 1\n"
			     "[7]app;[unknown] 1\n");
}

static void a_stack_with_much_inlined_is_cut_at_its_bound(void **state)
{
	uint64_t words[2 * 1000];

	(void)state;
	for (size_t i = 0; i < 1000; i++) {
		words[i] = JIT(0x100);
		words[1000 + i] = ID(RUN);
	}
	add_of(PROBE_ONCPU, words, ARRAY_SIZE(words), TRUNCATED_NOT);
	assert_int_equal(test.added.truncated, TRUNCATED_DEPTH);
	name_batch(PROBE_ONCPU, &plain);
	assert_int_equal(test.profile->weight, 1);
}

static void assert_held(const struct stack_detail *detail, const char *expected)
{
	struct live_owner holder = {.pid = 7, .shown = true, .who = {.pid = 7, .process = "app"}};
	struct live_alloc holding = {
		.stack = {.tgid = 7, .probe = PROBE_MEM_GLIBC}, .bytes = 8, .objects = 1};
	struct live_sums_result result;
	struct live_sums *holdings;
	struct profile *profile;

	assert_int_equal(live_sums_new(&holdings, 10), 0);
	assert_int_equal(profile_new(&profile, PROBE_MEM_GLIBC, 1, 0), 0);
	holding.stack.hash = 13;
	live_sums_add(holdings, &holding);
	holding.stack.hash = 4;
	live_sums_add(holdings, &holding);
	live_sums_show(holdings, test.stack_cache, &holder, 1, detail, profile, &result);
	assert_int_equal(result.unknown, 0);
	assert_folded(profile, expected);
	profile_unref(profile);
	live_sums_free(holdings);
}

/* What is held outlives its window: the stack cache has all that any view shows. */
static void what_is_held_is_shown_in_each_detail(void **state)
{
	const uint64_t words[] = {A_STACK}, vms_own[] = {C, VM, VM, C};

	(void)state;
	add_of(PROBE_MEM_GLIBC, words, ARRAY_SIZE(words), TRUNCATED_NOT);
	add_of(PROBE_MEM_GLIBC, vms_own, ARRAY_SIZE(vms_own), TRUNCATED_NOT);
	name_batch(PROBE_MEM_GLIBC, &plain);
	assert_held(&plain, "[7]app;[jvm] 8\n[7]app;[libc];a.Main.main (Main.java:12)_[0];[libc];"
			    "a.Work.run (Work.java:30)_[j];[libjvm];[libc];[kernel]_[k] 8\n");
	assert_held(&by_name, "[7]app;[jvm] 8\n[7]app;[libc];a.Main.main_[0];[libc];a.Work.run_[j];"
			      "[libjvm];[libc];[kernel]_[k] 8\n");
	assert_held(&by_signature,
		    "[7]app;[jvm] 8\n[7]app;[libc];a.Main.main(java.lang.String[])_[0];[libc];"
		    "a.Work.run()_[j];[libjvm];[libc];[kernel]_[k] 8\n");
	assert_held(&native,
		    "[7]app;[libc];[libjvm];[libjvm];[libc] 8\n"
		    "[7]app;[libc];[libjvm];call_stub_[j];a.Main.main (Main.java:12)_[0];[libc];"
		    "[libjvm];a.Work.run (Work.java:30)_[j];[libjvm];[libc];[kernel]_[k] 8\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(the_vms_own_frames_are_for_native_stack),
		TEST(native_stack_shows_them_all),
		TEST(a_stub_at_the_leaf_stays),
		TEST(inlined_methods_have_frames_of_their_own),
		TEST(where_it_isnt_known_what_is_inlined_it_is_counted),
		TEST(lines_and_files_are_left_out_of_names),
		TEST(signatures_tell_methods_of_one_name_apart),
		TEST(code_that_is_gone_has_a_frame_all_the_same),
		TEST(the_vms_own_threads_are_one_frame),
		TEST(with_native_stack_they_are_what_they_are),
		TEST(of_others_with_the_vm_nothing_is_hidden),
		TEST(a_vm_that_isnt_supported_is_any_program),
		TEST(what_lies_nowhere_ends_the_stack),
		TEST(odd_words_are_no_frames),
		TEST(a_stack_with_much_inlined_is_cut_at_its_bound),
		TEST(what_is_held_is_shown_in_each_detail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
