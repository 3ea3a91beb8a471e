// SPDX-License-Identifier: GPL-2.0-or-later
#include "window/merge.h"

#include "window/python_call.h"
#include "unit/lib/unit.h"

#define FRAMES_MAX 32

/*
 * Chains as text, leaf first. Native: `L` the loop, `o` the interpreter's own, `j` JIT, `k` the
 * kernel, `J` a Java method, `v` the VM's, other letters are others' code. Python: `f` a frame, `F`
 * one for which the loop was entered, `E` an empty one. In the answer Python's are digits, by their
 * number; `(x)` is for native_stack only,
 * `{x}` shown unless it is a call.
 */
static size_t read_natives(const char *text, uint8_t *flags)
{
	size_t count = strlen(text);

	for (size_t i = 0; i < count; i++)
		flags[i] = text[i] == 'L'   ? NATIVE_LOOP | NATIVE_OWN
			   : text[i] == 'o' ? NATIVE_OWN
			   : text[i] == 'j' ? NATIVE_JIT
			   : text[i] == 'k' ? NATIVE_KERNEL
			   : text[i] == 'J' ? NATIVE_JAVA
			   : text[i] == 'v' ? NATIVE_VM
					    : 0;
	return count;
}

static size_t read_pythons(const char *text, uint8_t *flags)
{
	size_t count = strlen(text);

	for (size_t i = 0; i < count; i++)
		flags[i] =
			(text[i] != 'f' ? PYTHON_ENTRY : 0) | (text[i] == 'E' ? PYTHON_EMPTY : 0);
	return count;
}

struct merge_result {
	char text[4 * FRAMES_MAX];
	enum truncation truncated;
};

static void merge(const char *natives, const char *pythons, enum truncation truncated,
		  enum python_end end, struct merge_result *result)
{
	static const char *const around[] = {
		[SHOWN_ALWAYS] = "", [SHOWN_NATIVE] = "()", [SHOWN_UNLESS_CALL] = "{}"};
	uint8_t native_flags[FRAMES_MAX], python_flags[FRAMES_MAX];
	struct merging merging = {
		.natives = native_flags,
		.pythons = python_flags,
		.natives_count = read_natives(natives, native_flags),
		.pythons_count = read_pythons(pythons, python_flags),
		.truncated = truncated,
		.end = end,
	};
	struct merged merged[2 * FRAMES_MAX];
	size_t len = 0, count = merge_frames(&merging, merged, &result->truncated);

	assert_true(count <= merging.natives_count + merging.pythons_count);
	result->text[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		size_t frame = merged[i].frame;
		char c = frame < merging.natives_count
				 ? natives[frame]
				 : (char)('0' + frame - merging.natives_count);

		const char *marks = around[merged[i].shown];
		len += (size_t)snprintf(result->text + len, sizeof(result->text) - len, "%.1s%c%s",
					marks, c, *marks ? marks + 1 : "");
	}
}

static void assert_merged(const char *natives, const char *pythons, enum truncation truncated,
			  enum python_end end, const char *expected)
{
	struct merge_result result;

	merge(natives, pythons, truncated, end, &result);
	assert_string_equal(result.text, expected);
}

static void assert_whole(const char *natives, const char *pythons, const char *expected)
{
	assert_merged(natives, pythons, TRUNCATED_NOT, PYTHON_WHOLE, expected);
}

static void a_stack_without_python_frames_stays_as_it_is(void **state)
{
	(void)state;
	assert_merged("", "", TRUNCATED_NOT, PYTHON_NONE, "");
	assert_merged("knoLjon", "", TRUNCATED_NOT, PYTHON_NONE, "knoLjon");
	assert_merged("knoLjon", "", TRUNCATED_NOT, PYTHON_MEMORY, "knoLjon");
	assert_whole("knoLjon", "E", "knoLjon");
}

static void python_frames_stand_leafward_of_their_loop(void **state)
{
	(void)state;
	assert_whole("Lomc", "F", "0(L)(o)mc");
	assert_whole("Lomc", "ffF", "012(L)(o)mc");
	assert_whole("koLoc", "fF", "k{o}01(L)(o)c");
}

static void each_segment_stands_at_its_own_loop(void **state)
{
	(void)state;
	/* 3.8: a loop for each call. */
	assert_whole("LoLoLomc", "FFF", "0(L)(o)1(L)(o)2(L)(o)mc");
	/* A C extension calls back: its frames stay between. */
	assert_whole("kLoxoLoc", "fFfF", "k01(L)(o)x(o)23(L)(o)c");
	/* sorted(key=…): interpreter's own code between Python frames is hidden, at the leaf asked
	 * for by name. */
	assert_whole("ooLooLoc", "FF", "{o}{o}0(L)(o)(o)1(L)(o)c");
}

static void whole_chains_lie_side_by_side_at_the_root(void **state)
{
	(void)state;
	/* The leaf's loop has no frame yet. */
	assert_whole("LoLoc", "fF", "(L){o}01(L)(o)c");
	assert_whole("kkLoLoc", "fF", "kk(L){o}01(L)(o)c");
	/* 3.8: it looks at its result. */
	assert_whole("ooLoLoc", "F", "{o}{o}(L){o}0(L)(o)c");
	/* … which the chain says itself. */
	assert_whole("LoLoc", "EfF", "(L){o}12(L)(o)c");
	/* More segments than loops: the leaf's are left over. */
	assert_whole("koLoc", "FfF", "k{o}012(L)(o)c");
	assert_whole("kxc", "FfF", "kxc012");
}

/* greenlets: what is rootward of theirs on the native stack is of other chains. */
static void a_chain_that_was_put_away_leaves_its_loops_behind(void **state)
{
	(void)state;
	assert_whole("xLogLc", "fF", "x01(L)(o)g(L)c");
	assert_whole("ooLogLc", "fF", "{o}{o}01(L)(o)g(L)c");
	assert_whole("oooLogLc", "F", "{o}{o}{o}0(L)(o)g(L)c");
	assert_whole("LogLogLc", "fF", "01(L)(o)g(L)(o)g(L)c");
	assert_whole("xLoLogLoLc", "FF", "x0(L)(o)1(L)(o)g(L)(o)(L)c");
	assert_merged("LogLoLo", "F", TRUNCATED_MEMORY, PYTHON_WHOLE, "0(L)(o)g(L)(o)(L)(o)");
}

static void a_native_chain_that_is_cut_lies_at_the_leaf(void **state)
{
	struct merge_result result;

	(void)state;
	assert_merged("LoLo", "FFFF", TRUNCATED_DEPTH, PYTHON_WHOLE, "0(L)(o)1(L)(o)23");
	assert_merged("xLoL", "fFfFfF", TRUNCATED_MEMORY, PYTHON_WHOLE, "x01(L)(o)23(L)45");
	assert_merged("LoLo", "EFF", TRUNCATED_DEPTH, PYTHON_WHOLE, "(L){o}1(L)(o)2");
	assert_merged("xyz", "fF", TRUNCATED_DEPTH, PYTHON_WHOLE, "xyz01");
	/* There are loops more than the whole chain has segments. */
	assert_merged("LoLo", "F", TRUNCATED_MEMORY, PYTHON_WHOLE, "(L){o}0(L)(o)");
	merge("LoLo", "FFFF", TRUNCATED_DEPTH, PYTHON_WHOLE, &result);
	assert_int_equal(result.truncated, TRUNCATED_NOT);
}

static void a_python_chain_that_is_cut_lies_at_the_leaf(void **state)
{
	(void)state;
	assert_merged("LoLoLoc", "FFf", TRUNCATED_NOT, PYTHON_DEPTH, "0(L)(o)1(L)(o)2(L)(o)c");
	assert_merged("LoLoLoc", "Ff", TRUNCATED_NOT, PYTHON_MEMORY, "0(L)(o)1(L)(o)(L)(o)c");
	assert_merged("LoLoLo", "FFf", TRUNCATED_DEPTH, PYTHON_DAMAGED, "0(L)(o)1(L)(o)2(L)(o)");
}

static void trampolines_of_X_perf_are_left_out(void **state)
{
	(void)state;
	assert_whole("LjooLjoc", "FF", "0(L)(o)(o)1(L)(o)c");
	assert_whole("jxLjoc", "F", "jx0(L)(o)c"); /* other code that was made stays */
	assert_whole("Lxjoc", "F", "0(L)xj(o)c");
	assert_merged("Ljoc", "", TRUNCATED_NOT, PYTHON_NONE, "Ljoc");
}

static void a_stack_is_truncated_where_either_chain_is(void **state)
{
	static const struct {
		enum truncation native;
		enum python_end end;
		enum truncation expected;
	} cases[] = {
		{TRUNCATED_NOT, PYTHON_WHOLE, TRUNCATED_NOT},
		{TRUNCATED_NOT, PYTHON_NONE, TRUNCATED_NOT},
		{TRUNCATED_NOT, PYTHON_DEPTH, TRUNCATED_PYTHON_DEPTH},
		{TRUNCATED_NOT, PYTHON_MEMORY, TRUNCATED_PYTHON},
		{TRUNCATED_NOT, PYTHON_DAMAGED, TRUNCATED_PYTHON},
		{TRUNCATED_NOT, PYTHON_SEARCHED, TRUNCATED_PYTHON},
		{TRUNCATED_NOT, PYTHON_PENDING, TRUNCATED_RUNTIME_PENDING},
		{TRUNCATED_MEMORY, PYTHON_PENDING, TRUNCATED_MEMORY},
		{TRUNCATED_DEPTH, PYTHON_WHOLE, TRUNCATED_NOT},
		{TRUNCATED_DEPTH, PYTHON_NONE, TRUNCATED_DEPTH},
		{TRUNCATED_DEPTH, PYTHON_DEPTH, TRUNCATED_PYTHON_DEPTH},
		{TRUNCATED_MEMORY, PYTHON_WHOLE, TRUNCATED_MEMORY},
		{TRUNCATED_MEMORY, PYTHON_DAMAGED, TRUNCATED_MEMORY},
	};
	struct merge_result result;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		merge("oLo", "fF", cases[i].native, cases[i].end, &result);
		assert_int_equal(result.truncated, cases[i].expected);
	}
	merge("oLo", "E", TRUNCATED_DEPTH, PYTHON_WHOLE, &result);
	assert_int_equal(result.truncated, TRUNCATED_DEPTH); /* nothing of it is there */
}

/* The next text of letters out of `letters`; false: that was the last one of its length. */
static bool next_text(char *text, const char *letters)
{
	for (; *text; text++) {
		const char *at = strchr(letters, *text);

		*text = at[1] ? at[1] : letters[0];
		if (at[1])
			return true;
	}
	return false;
}

/* The frames of one kind in the answer, in their order. */
static void pick(const char *answer, bool pythons, char *picked)
{
	for (; *answer; answer++) {
		bool is_python = *answer >= '0' && *answer <= '9';

		if (!strchr("(){}", *answer) && is_python == pythons)
			*picked++ = *answer;
	}
	*picked = '\0';
}

/* Nothing is lost, doubled or out of order, and Python's frames are never hidden. */
static void check_order(const char *natives, const char *pythons, const char *answer)
{
	char picked[FRAMES_MAX], expected[FRAMES_MAX], *to = expected;

	pick(answer, false, picked);
	assert_string_equal(picked, natives);
	for (size_t i = 0; pythons[i]; i++) {
		if (pythons[i] != 'E')
			*to++ = (char)('0' + i);
	}
	*to = '\0';
	pick(answer, true, picked);
	assert_string_equal(picked, expected);
	for (const char *at = answer + (*answer != '\0'); *at; at++)
		assert_false(at[-1] != ')' && strchr("({", at[-1]) && *at >= '0' && *at <= '9');
}

/* Where both chains have as many, right before each loop comes the end of its segment. */
static void check_segments(const char *pythons, const char *answer)
{
	for (const char *at = answer; (at = strstr(at, "(L)")); at += 3) {
		size_t last;

		if (at == answer || !strchr("0123456789", at[-1]))
			continue;
		last = (size_t)(at[-1] - '0');
		assert_int_equal(pythons[last], 'F');
	}
}

static size_t count_of(const char *text, const char *letters)
{
	size_t count = 0;

	for (; *text; text++)
		count += strchr(letters, *text) != NULL;
	return count;
}

static void check_all_ends(const char *natives, const char *pythons)
{
	static const enum truncation truncations[] = {TRUNCATED_NOT, TRUNCATED_DEPTH,
						      TRUNCATED_MEMORY};
	struct merge_result result;

	for (int end = PYTHON_NONE; end < PYTHON_END_COUNT; end++) {
		for (size_t i = 0; i < 3; i++) {
			merge(natives, pythons, truncations[i], end, &result);
			check_order(natives, pythons, result.text);
		}
	}
	merge(natives, pythons, TRUNCATED_NOT, PYTHON_WHOLE, &result);
	if (*pythons && !strstr(pythons, "fE") &&
	    count_of(natives, "L") == count_of(pythons, "FE") &&
	    pythons[strlen(pythons) - 1] != 'f')
		check_segments(pythons, result.text);
}

static void no_frame_is_lost_or_moved_in_any_two_chains(void **state)
{
	static const char natives_all[] = "xxxxx", pythons_all[] = "ffff";
	char natives[sizeof(natives_all)], pythons[sizeof(pythons_all)];

	(void)state;
	for (size_t n = 0; n < sizeof(natives); n++) {
		snprintf(natives, sizeof(natives), "%.*s", (int)n, natives_all);
		do {
			for (size_t p = 0; p < sizeof(pythons); p++) {
				snprintf(pythons, sizeof(pythons), "%.*s", (int)p, pythons_all);
				do
					check_all_ends(natives, pythons);
				while (next_text(pythons, "fFE"));
			}
		} while (next_text(natives, "xoL"));
	}
}

static void functions_that_only_call_are_told_by_name(void **state)
{
	static const char *const calls[] = {"_PyObject_Vectorcall",
					    "PyObject_Vectorcall",
					    "_PyObject_VectorcallTstate.lto_priv.12",
					    "cfunction_vectorcall_O",
					    "cfunction_vectorcall_FASTCALL_KEYWORDS.cold",
					    "method_vectorcall_NOARGS.lto_priv.0",
					    "_PyFunction_Vectorcall.localalias",
					    "_PyEval_Vector.constprop.0.isra.0",
					    "PyObject_CallOneArg",
					    "slot_tp_call"};
	static const char *const others[] = {"list_sort",
					     "time_sleep",
					     "long_mul",
					     "",
					     ".",
					     "slot_tp_call_it",
					     "PyObject_",
					     "method_vectorcal",
					     "vectorcall_method2",
					     "dict_get",
					     "[python3.11+0x1a2b]",
					     "PyObject.CallOneArg"};

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		assert_true(python_call(calls[i], strlen(calls[i])));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(python_call(others[i], strlen(others[i])));
}

static void the_vms_own_code_is_hidden_rootward_of_java(void **state)
{
	(void)state;
	assert_merged("kcvJJvcJvvc", "", TRUNCATED_NOT, PYTHON_NONE, "kcvJJ(v)cJ(v)(v)c");
	assert_merged("vcJ", "", TRUNCATED_JAVA, PYTHON_NONE, "vcJ");
	assert_merged("kvvc", "", TRUNCATED_NOT, PYTHON_NONE, "kvvc");
}

static bool is_vms_own(const char *natives, uint8_t python, enum truncation truncated)
{
	uint8_t flags[FRAMES_MAX];
	struct merging merging = {
		.natives = flags,
		.natives_count = read_natives(natives, flags),
		.pythons = &python,
		.pythons_count = 1,
		.truncated = truncated,
	};

	return merge_is_vms_own(&merging);
}

static void a_whole_stack_without_java_is_the_vms_own(void **state)
{
	(void)state;
	assert_true(is_vms_own("kcvvc", PYTHON_EMPTY, TRUNCATED_NOT));
	assert_false(is_vms_own("kcc", PYTHON_EMPTY, TRUNCATED_NOT));
	assert_false(is_vms_own("kvJvc", PYTHON_EMPTY, TRUNCATED_NOT));
	assert_false(is_vms_own("kvjvc", PYTHON_EMPTY, TRUNCATED_NOT));
	assert_false(is_vms_own("kv", PYTHON_EMPTY, TRUNCATED_MEMORY));
	assert_false(is_vms_own("kvvc", PYTHON_ENTRY, TRUNCATED_NOT)); /* Python called it */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_without_python_frames_stays_as_it_is),
		cmocka_unit_test(the_vms_own_code_is_hidden_rootward_of_java),
		cmocka_unit_test(a_whole_stack_without_java_is_the_vms_own),
		cmocka_unit_test(python_frames_stand_leafward_of_their_loop),
		cmocka_unit_test(each_segment_stands_at_its_own_loop),
		cmocka_unit_test(whole_chains_lie_side_by_side_at_the_root),
		cmocka_unit_test(a_chain_that_was_put_away_leaves_its_loops_behind),
		cmocka_unit_test(a_native_chain_that_is_cut_lies_at_the_leaf),
		cmocka_unit_test(a_python_chain_that_is_cut_lies_at_the_leaf),
		cmocka_unit_test(trampolines_of_X_perf_are_left_out),
		cmocka_unit_test(a_stack_is_truncated_where_either_chain_is),
		cmocka_unit_test(no_frame_is_lost_or_moved_in_any_two_chains),
		cmocka_unit_test(functions_that_only_call_are_told_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
