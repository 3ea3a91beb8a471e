// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include <malloc.h>
#include <sys/wait.h>
#include <time.h>

#include "unit/lib/buf_text.h"
#include "loop/loop.h"
#include "loop/worker.h"
#include "elf/demangle.h"

static void assert_demangled(const char *symbol, const char *expected)
{
	_cleanup_buf_ struct buf out = BUF_INIT(1 << 20);

	demangle(symbol, &out);
	_cleanup_free_ char *text = take_text(&out, NULL);
	assert_string_equal(text, expected);
}

static void cxx_names_are_readable(void **state)
{
	(void)state;
	assert_demangled("_Z3foov", "foo()");
	assert_demangled("_ZN2ns3Cls6methodEiPKc", "ns::Cls::method(int, char const*)");
	assert_demangled("_ZNSt6vectorIiSaIiEE9push_backERKi",
			 "std::vector<int, std::allocator<int> >::push_back(int const&)");
	assert_demangled("_ZN3FooC1Ev", "Foo::Foo()");
	assert_demangled("_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const");
}

static void rust_names_of_both_schemes_are_readable_and_without_hash(void **state)
{
	(void)state;
	assert_demangled("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
			 "core::fmt::Write::write_fmt");
	assert_demangled("_ZN42_$LT$$RF$T$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE",
			 "<&T as core::fmt::Debug>::fmt");
	assert_demangled("_RNvC7mycrate4main", "mycrate::main");
	assert_demangled("_RNvCs1234_7mycrate3foo", "mycrate::foo");
	assert_demangled("_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>");
	assert_demangled("_RNvC1au8gdel_5qa", "a::g\xc3\xb6"
					      "del");
}

static void what_is_neither_stays_as_it_is(void **state)
{
	static const char *const names[] = {
		"main",
		"",
		"_",
		"_Z",
		"_ZN",
		"_R",
		"_RNv",
		"__libc_start_main",
		"_start",
		"_Zzzzzzz",
		"operator new(unsigned long)",
		"foo;bar\n",
		"_Z3fo",
		"\xff\xfe",
		"_ZN4core3fmt5Write9write_fmt17h0123456789abcdef",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_demangled(names[i], names[i]);
}

static void suffixes_of_compilers_and_versions_do_not_hinder(void **state)
{
	_cleanup_buf_ struct buf out = BUF_INIT(4096);

	(void)state;
	demangle("_Z3foov.part.0", &out);
	buf_char(&out, '\0');
	assert_memory_equal(out.data, "foo()", 5);
	assert_demangled("_Z3foov@@VERSION_1.0", "foo()");
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* f(pair<int,int>, pair<that, that>, …): doubles with each step. */
static char *cxx_bomb(int steps)
{
	struct buf text = BUF_INIT(1 << 20);

	buf_str(&text, "_Z1fSt4pairIiiE"); /* S_ is std::pair, S0_ pair<int, int> */
	for (int i = 0; i < steps; i++) {
		char c = (char)(i < 10 ? '0' + i : 'A' + i - 10);

		buf_printf(&text, "S_IS%c_S%c_E", c, c);
	}
	return take_text(&text, NULL);
}

static void bombs_of_substitutions_are_bounded_and_quick(void **state)
{
	double before = seconds();

	(void)state;
	for (int steps = 1; steps < 34; steps++) {
		_cleanup_buf_ struct buf out = BUF_INIT(1 << 20);
		_cleanup_free_ char *bomb = cxx_bomb(steps);

		demangle(bomb, &out);
		assert_int_equal(buf_error(&out), 0);
		assert_true(out.len > 0 && out.len <= 4096);
	}
	assert_true(seconds() - before < 2);
}

/* Rust's numbers of base 62: "_" is 0, "0_" is 1. */
static void add_base62(struct buf *text, size_t value)
{
	static const char digits[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	if (value > 62)
		buf_char(text, digits[(value - 1) / 62]);
	if (value)
		buf_char(text, digits[(value - 1) % 62]);
	buf_char(text, '_');
}

/* Each tuple holds the one before twice. */
static char *rust_bomb_of(const char *begin, int steps)
{
	struct buf text = BUF_INIT(1 << 16);
	size_t last = 0;

	buf_str(&text, begin);
	for (int i = 0; i < steps; i++) {
		size_t at = text.len - strlen("_R");

		buf_char(&text, 'T');
		for (int twice = 0; twice < 2; twice++) {
			buf_char(&text, last ? 'B' : 'j');
			if (last)
				add_base62(&text, last);
		}
		buf_char(&text, 'E');
		last = at;
	}
	buf_char(&text, 'E');
	return take_text(&text, NULL);
}

static char *rust_bomb(int steps)
{
	return rust_bomb_of("_RINvC1a1b", steps);
}

static void rust_bombs_of_backrefs_are_bounded_and_quick(void **state)
{
	double before = seconds();

	(void)state;
	for (int steps = 1; steps < 100; steps++) {
		_cleanup_buf_ struct buf out = BUF_INIT(1 << 20);
		_cleanup_free_ char *symbol = rust_bomb(steps);

		demangle(symbol, &out);
		assert_true(out.len > 0 && out.len <= 4096);
		if (steps < 6)
			assert_memory_equal(out.data, "a::b::<(usize, usize)", 21);
	}
	assert_true(seconds() - before < 2);
}

/* A short one, of which each took 16 ms: as many as a file may have cost a few of them. */
static void a_file_of_bombs_costs_a_few_of_them_and_other_names_stay_readable(void **state)
{
	_cleanup_buf_ struct buf out = BUF_INIT(16 << 20);
	_cleanup_free_ char *symbol = rust_bomb(17);
	struct demangling demangling = {0};
	double before = seconds();

	(void)state;
	assert_true(strlen(symbol) < 256);
	for (int i = 0; i < 16384; i++)
		demangle_within(&demangling, symbol, &out);
	assert_true(seconds() - before < 2);
	assert_int_equal(out.len, 16384 * strlen(symbol)); /* each as it is */
	assert_int_equal(demangling.bombs, 16);
	out.len = 0;
	demangle_within(&demangling, "_Z3foov", &out);
	demangle_within(&demangling, "_ZN1a1b17h0123456789abcdefE", &out);
	assert_memory_equal(out.data, "foo()a::b", 9);
	/* Another file's symbols aren't concerned. */
	assert_demangled("_RNvC7mycrate4main", "mycrate::main");
}

/* Names with Punycode, or what looks like it, may cost memory for good. */
static void who_has_lost_too_much_by_punycode_has_none_and_others_have(void **state)
{
	static const char plain[] = "_RNvC1a2u1";
	_cleanup_free_ char *bomb = rust_bomb_of("_RINvC1a2u1", 17);

	(void)state;
	for (uint64_t whose = 5; whose <= 7; whose++) {
		_cleanup_buf_ struct buf out = BUF_INIT(1 << 20);

		for (int i = 0; whose == 5 && i < 100; i++)
			demangle_within(&(struct demangling){.whose = whose}, bomb, &out);
		out.len = 0;
		demangle_within(&(struct demangling){.whose = whose}, plain, &out);
		buf_char(&out, '\0');
		assert_string_equal(out.data, whose == 5 ? plain : "a::u1");
	}
}

static void a_file_that_has_cost_its_time_keeps_its_symbols(void **state)
{
	_cleanup_buf_ struct buf out = BUF_INIT(4096);
	struct demangling demangling = {.cpu_ns = 600000000};

	(void)state;
	demangle_within(&demangling, "_Z3foov", &out);
	assert_int_equal(out.len, 7);
	assert_memory_equal(out.data, "_Z3foov", 7);
}

static void too_long_symbols_stay_as_they_are(void **state)
{
	static char symbol[5000];

	(void)state;
	memset(symbol, 'P', sizeof(symbol) - 1);
	memcpy(symbol, "_Z1f", 4);
	symbol[sizeof(symbol) - 2] = 'i';
	assert_demangled(symbol, symbol);
}

/* An identifier of 200 bytes in Punycode, which is decoded on the heap, again and again: the limit
 * of the readable form is reached while one is being printed. */
static void a_name_given_up_in_the_middle_leaks_nothing(void **state)
{
	_cleanup_buf_ struct buf text = BUF_INIT(1 << 16), out = BUF_INIT(1 << 20);

	(void)state;
	buf_str(&text, "_RINvC1a1bTNtC1cu204");
	for (int i = 0; i < 50; i++)
		buf_str(&text, "gdel");
	buf_str(&text, "_5qa");
	for (int i = 0; i < 60; i++) {
		buf_char(&text, 'B');
		add_base62(&text, strlen("INvC1a1bT"));
	}
	buf_str(&text, "EE");
	_cleanup_free_ char *symbol = take_text(&text, NULL);
	demangle(symbol, &out);
	assert_int_equal(out.len, strlen(symbol)); /* too long: as it is */
	struct mallinfo2 before = mallinfo2();
	for (int i = 0; i < 1000; i++) {
		out.len = 0;
		demangle(symbol, &out);
	}
	struct mallinfo2 after = mallinfo2();
	assert_in_range(after.uordblks - before.uordblks, 0, 4096);
}

/* The worker's threads have small stacks. */
struct deep_job {
	struct job job;
	struct loop *loop;
	const char *repeated, *before, *after;
};

static void deep_run(struct job *job)
{
	struct deep_job *deep = (struct deep_job *)job;

	for (size_t bytes = 64; bytes < 4096; bytes += 64) {
		_cleanup_buf_ struct buf text = BUF_INIT(1 << 16), out = BUF_INIT(1 << 16);

		buf_str(&text, deep->before);
		while (text.len < bytes)
			buf_str(&text, deep->repeated);
		buf_str(&text, deep->after);
		_cleanup_free_ char *symbol = take_text(&text, NULL);
		demangle(symbol, &out);
	}
}

static void deep_done(struct job *job, bool finished)
{
	assert_true(finished);
	loop_stop(((struct deep_job *)job)->loop);
}

static void demangle_in_worker(const char *const shape[3])
{
	struct worker *worker;
	struct loop *loop;

	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(worker_new(&worker, loop, "test", 60 * NS_PER_S), 0);
	struct deep_job deep = {.job = {.run = deep_run, .done = deep_done},
				.loop = loop,
				.repeated = shape[0],
				.before = shape[1],
				.after = shape[2]};
	worker_submit(worker, &deep.job);
	assert_int_equal(loop_run(loop), 0);
	worker_stop(worker);
	worker_free(worker);
	loop_free(loop);
}

static void deep_nesting_does_not_exhaust_a_workers_stack(void **state)
{
	static const char *const shapes[][3] = {
		{"P", "_Z1f", "i"},	   {"RK", "_Z1f", "i"},
		{"PF", "_Z1f", "vE"},	   {"St4pairIi", "_Z1f", "i"},
		{"A1_", "_Z1f", "i"},	   {"M1a", "_Z1f", "i"},
		{"N1a", "_Z", "1bEEEE"},   {"XadL_Z", "_Z1fIXadL_Z", "1gvEEEvv"},
		{"Dp", "_Z1f", "i"},	   {"ng", "_Z1fIXng", "Li1EEEvv"},
		{"P", "_RINvC1a1b", "jE"}, {"S", "_RINvC1a1b", "jE"},
		{"T", "_RINvC1a1b", "jE"}, {"FE", "_RINvC1a1b", "jE"},
		{"Nv", "_R", "C1a1b1c"},   {"INv", "_R", "C1a1b"},
		{"YjC1a", "_R", "1b"},	   {"DC1a", "_RINvC1a1b", "EL_E"},
	};
	int crashed = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		int status;
		pid_t child = fork(); /* so that a crash is told with its shape */

		if (child == 0) {
			demangle_in_worker(shapes[i]);
			_exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		if (status) {
			print_message("%s%s%s…%s: status 0x%x\n", shapes[i][1], shapes[i][0],
				      shapes[i][0], shapes[i][2], (unsigned)status);
			crashed++;
		}
	}
	assert_int_equal(crashed, 0);
}

static void random_symbols_do_no_harm(void **state)
{
	static const char letters[] = "_ZNRSTIEPFKvijtsu0123456789BCMXYLDpnhgo$.abc";
	uint64_t random = 9;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		_cleanup_buf_ struct buf out = BUF_INIT(1 << 16);
		char symbol[64] = "";
		size_t len = 2 + random_next(&random) % 60;

		memcpy(symbol, random & 1 ? "_Z" : "_R", 2);
		for (size_t at = 2; at < len; at++)
			symbol[at] = letters[random_next(&random) % (sizeof(letters) - 1)];
		demangle(symbol, &out);
		assert_true(out.len <= 4096);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cxx_names_are_readable),
		cmocka_unit_test(rust_names_of_both_schemes_are_readable_and_without_hash),
		cmocka_unit_test(what_is_neither_stays_as_it_is),
		cmocka_unit_test(suffixes_of_compilers_and_versions_do_not_hinder),
		cmocka_unit_test(bombs_of_substitutions_are_bounded_and_quick),
		cmocka_unit_test(rust_bombs_of_backrefs_are_bounded_and_quick),
		cmocka_unit_test(a_file_of_bombs_costs_a_few_of_them_and_other_names_stay_readable),
		cmocka_unit_test(who_has_lost_too_much_by_punycode_has_none_and_others_have),
		cmocka_unit_test(a_file_that_has_cost_its_time_keeps_its_symbols),
		cmocka_unit_test(too_long_symbols_stay_as_they_are),
		cmocka_unit_test(a_name_given_up_in_the_middle_leaks_nothing),
		cmocka_unit_test(random_symbols_do_no_harm),
		cmocka_unit_test(deep_nesting_does_not_exhaust_a_workers_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
