// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables of a few functions that are made up. */
#include "unit/cfi/gopclntab_maker.h"
#include "unit/proc/elf_maker.h"
#include "unit/symbol/look_up.h"

#include <fcntl.h>

static const struct function_plan plans[] = {
	/* push %rbp; mov %rsp,%rbp; sub $24,%rsp; … pop %rbp; ret */
	{"main.new",
	 {0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x18},
	 0,
	 {{0, 1}, {8, 8}, {32, 20}, {8, 21}, {0, 32}}},
	/* sub $24,%rsp; mov %rbp,16(%rsp); lea 16(%rsp),%rbp */
	{"main.old",
	 {0x48, 0x83, 0xec, 0x18, 0x48, 0x89, 0x6c, 0x24, 0x10, 0x48, 0x8d, 0x6c, 0x24, 0x10},
	 0,
	 {{0, 4}, {24, 28}, {0, 32}}},
	/* sub $24,%rsp, and rbp isn't saved */
	{"main.bare", {0x48, 0x83, 0xec, 0x18, 0x90}, 0, {{0, 4}, {24, 28}, {0, 32}}},
	/* push %r13 isn't push %rbp */
	{"main.other", {0x41, 0x55, 0x90}, 0, {{0, 2}, {8, 28}, {0, 32}}},
	{"runtime.goexit", {0x90}, 1, {{0, 32}}},
	{"runtime.systemstack.abi0", {0x55, 0x48, 0x89, 0xe5}, 2, {{0, 1}, {8, 30}, {0, 32}}},
	/* ...; mov 56(%r14),%rsp; push %rax */
	{"runtime.mcall",
	 {0x55, 0x48, 0x89, 0xe5, 0x49, 0x8b, 0x66, 0x38, 0x50},
	 2,
	 {{0, 1}, {8, 9}, {16, 30}, {8, 31}, {0, 32}}},
	/* nop; mov 56(%rbx),%rsp */
	{"runtime.morestack", {0x90, 0x48, 0x8b, 0x63, 0x38}, 2, {{0, 32}}},
	{"runtime.sigreturn__sigaction", {0x90}, 0, {{0, 32}}},
	{"runtime.asyncPreempt", {0x55, 0x48, 0x89, 0xe5}, 0, {{0, 1}, {8, 32}}},
	{"syscall.rawVforkSyscall", {0x90, 0x41, 0x5c, 0x90}, 0, {{0, 3}, {-8, 8}, {0, 32}}},
	{"none", {0x90}, 0, {{0, 0}}},
	{"runtime.sigtramp", {0x9c, 0x90}, 1, {{0, 1}, {8, 30}, {0, 32}}},
	/* nop; mov (%rbx),%rsp */
	{"gogo", {0x90, 0x48, 0x8b, 0x23}, 2, {{0, 32}}},
	{"main.broken", {0x90}, 0, {{0, 4}, {-16, 8}, {0, 32}}},
};

enum {
	NEW,
	OLD,
	BARE,
	OTHER,
	GOEXIT,
	SYSTEMSTACK,
	MCALL,
	MORESTACK,
	SIGRETURN,
	PREEMPT,
	VFORK,
	NONE,
	SIGTRAMP,
	GOGO,
	BROKEN
};

static const struct rule *rule_at(const struct rows *rows, unsigned function, unsigned byte)
{
	const struct row *row = row_at(rows, CODE_ADDRESS + function * 32 + byte);

	assert_non_null(row);
	return &row->rule;
}

static void assert_cfa(const struct rows *rows, unsigned function, unsigned byte, unsigned reg,
		       int offset, enum saved_kind fp)
{
	const struct rule *rule = rule_at(rows, function, byte);

	assert_int_equal(rule->kind, RULE_CFA);
	assert_int_equal(rule->cfa_reg, reg);
	assert_int_equal(rule->cfa_offset, offset);
	assert_int_equal(rule->fp.kind, fp);
	if (fp == SAVED_AT_CFA)
		assert_int_equal(rule->fp.offset, -16);
	assert_int_equal(rule->ra.kind, SAVED_AT_CFA);
	assert_int_equal(rule->ra.offset, -8);
}

static void each_format_has_the_same_rows(void **state)
{
	static const uint32_t formats[] = {GO_1_20, GO_1_18, GO_1_16};
	_cleanup_rows_ struct rows first = {0};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(formats); i++) {
		_cleanup_close_ int fd = go_file(formats[i / 2], i & 1, plans, ARRAY_SIZE(plans));
		_cleanup_rows_ struct rows rows = {0};
		struct cfi_stats stats;

		assert_int_equal(read_rows(fd, i ? &rows : &first, &stats), 0);
		assert_int_equal(stats.functions, FUNCTIONS);
		assert_int_equal(stats.broken, 0);
		if (i == 0)
			continue;
		assert_int_equal(rows.count, first.count);
		for (size_t k = 0; k < rows.count; k++) {
			assert_int_equal(rows.each[k].address, first.each[k].address);
			assert_true(rule_is_equal(&rows.each[k].rule, &first.each[k].rule));
		}
	}
}

static void a_saved_frame_pointer_is_told_where_the_code_saves_it(void **state)
{
	_cleanup_close_ int fd = go_file(GO_1_20, true, plans, ARRAY_SIZE(plans));
	_cleanup_rows_ struct rows rows = {0};
	struct cfi_stats stats;

	(void)state;
	assert_int_equal(read_rows(fd, &rows, &stats), 0);
	assert_cfa(&rows, NEW, 0, RSP, 8, SAVED_SAME);
	assert_cfa(&rows, NEW, 1, RSP, 16, SAVED_AT_CFA);
	assert_cfa(&rows, NEW, 8, RSP, 40, SAVED_AT_CFA);
	assert_cfa(&rows, NEW, 20, RSP, 16, SAVED_AT_CFA);
	assert_cfa(&rows, NEW, 21, RSP, 8, SAVED_SAME);
	assert_cfa(&rows, OLD, 3, RSP, 8, SAVED_SAME);
	assert_cfa(&rows, OLD, 4, RSP, 32, SAVED_SAME); /* it is saved next */
	assert_cfa(&rows, OLD, 9, RSP, 32, SAVED_AT_CFA);
	assert_cfa(&rows, OLD, 28, RSP, 8, SAVED_SAME);
	assert_cfa(&rows, BARE, 4, RSP, 32, SAVED_LOST);
	assert_cfa(&rows, OTHER, 2, RSP, 16, SAVED_LOST);
	assert_cfa(&rows, OTHER, 28, RSP, 8, SAVED_SAME);
}

static void functions_that_switch_stacks_are_left_by_the_frame_pointer(void **state)
{
	_cleanup_close_ int fd = go_file(GO_1_20, true, plans, ARRAY_SIZE(plans));
	_cleanup_rows_ struct rows rows = {0};
	struct cfi_stats stats;

	(void)state;
	assert_int_equal(read_rows(fd, &rows, &stats), 0);
	assert_cfa(&rows, SYSTEMSTACK, 0, RSP, 8, SAVED_SAME);
	assert_cfa(&rows, SYSTEMSTACK, 1, RSP, 16, SAVED_AT_CFA);
	assert_cfa(&rows, SYSTEMSTACK, 4, RBP, 16, SAVED_AT_CFA);
	assert_cfa(&rows, SYSTEMSTACK, 29, RBP, 16, SAVED_AT_CFA);
	assert_true(rule_at(&rows, SYSTEMSTACK, 29)->signal); /* it may be on a lower stack */
	assert_cfa(&rows, SYSTEMSTACK, 30, RSP, 8, SAVED_SAME);
	assert_cfa(&rows, MCALL, 4, RBP, 16, SAVED_AT_CFA);
	assert_int_equal(rule_at(&rows, MCALL, 8)->kind, RULE_END);
	assert_int_equal(rule_at(&rows, MCALL, 30)->kind, RULE_END);
	assert_cfa(&rows, MORESTACK, 1, RSP, 8, SAVED_SAME);
	assert_int_equal(rule_at(&rows, MORESTACK, 2)->kind, RULE_END);
	assert_int_equal(rule_at(&rows, MORESTACK, 30)->kind, RULE_END);
	assert_cfa(&rows, GOGO, 1, RSP, 8, SAVED_SAME);
	assert_int_equal(rule_at(&rows, GOGO, 2)->kind, RULE_UNSUPPORTED);
	assert_int_equal(rule_at(&rows, GOGO, 30)->kind, RULE_UNSUPPORTED);
	assert_int_equal(stats.unsupported[UNSUPPORTED_CFA_EXPRESSION], 1);
}

static void roots_and_what_signals_made_are_told(void **state)
{
	_cleanup_close_ int fd = go_file(GO_1_20, true, plans, ARRAY_SIZE(plans));
	_cleanup_rows_ struct rows rows = {0};
	struct cfi_stats stats;
	const struct rule *rule;

	(void)state;
	assert_int_equal(read_rows(fd, &rows, &stats), 0);
	assert_int_equal(rule_at(&rows, GOEXIT, 0)->kind, RULE_END);
	assert_int_equal(rule_at(&rows, NONE, 0)->kind, RULE_NONE);
	assert_int_equal(rows.each[rows.count - 1].rule.kind, RULE_NONE);
	assert_int_equal(rows.each[rows.count - 1].address, CODE_ADDRESS + FUNCTIONS * 32);
	assert_cfa(&rows, SIGTRAMP, 1, RSP, 16, SAVED_LOST);
	assert_cfa(&rows, PREEMPT, 4, RSP, 16, SAVED_AT_CFA);
	assert_true(rule_at(&rows, PREEMPT, 4)->signal);
	assert_false(rule_at(&rows, NEW, 4)->signal);
	rule = rule_at(&rows, SIGRETURN, 0);
	assert_true(rule->kind == RULE_CFA && rule->signal && rule->cfa_deref);
	assert_true(rule->ra.kind == SAVED_AT_REG && rule->ra.offset == 168);
	/* Handlers return to its first byte: it is looked up at the one before. */
	assert_true(rule_is_equal(rule, rule_at(&rows, SIGRETURN - 1, 31)));
	rule = rule_at(&rows, VFORK, 3);
	assert_true(rule->kind == RULE_CFA && rule->cfa_reg == RSP && rule->cfa_offset == 0);
	assert_true(rule->ra.kind == SAVED_LOST && rule->ra.reg == 12);
	assert_cfa(&rows, VFORK, 8, RSP, 8, SAVED_SAME);
	assert_int_equal(rule_at(&rows, BROKEN, 4)->kind, RULE_UNSUPPORTED);
	assert_int_equal(stats.unsupported[UNSUPPORTED_CFA_OFFSET], 1);
}

static void a_stripped_program_has_the_names_of_the_table(void **state)
{
	_cleanup_program_ struct program program = {
		go_file(GO_1_20, true, plans, ARRAY_SIZE(plans)), -1};
	struct looked_up found;

	(void)state;
	assert_int_equal(look_up(&program, CODE_OFFSET + BARE * 32 + 7, &found), 0);
	assert_string_equal(found.name, "main.bare");
	assert_int_equal(found.address, CODE_ADDRESS + BARE * 32);
	assert_int_equal(look_up(&program, CODE_OFFSET + CODE_BYTES - 32, &found), 0);
	assert_string_equal(found.name, "main.plain");
	assert_int_equal(look_up(&program, CODE_OFFSET + CODE_BYTES - 1, &found), 0);
	assert_string_equal(found.name, ""); /* a filler */
}

static void files_of_others_have_none(void **state)
{
	struct elf_plan plain = {0};
	_cleanup_close_ int fd = elf_file(&plain);
	_cleanup_close_ int self = open("/proc/self/exe", O_RDONLY);
	_cleanup_rows_ struct rows rows = {0};
	struct cfi_stats stats;

	(void)state;
	assert_int_equal(read_rows(fd, &rows, &stats), -ENOENT);
	assert_int_equal(read_rows(self, &rows, &stats), -ENOENT);
	assert_int_equal(rows.count, 0);
}

static void broken_tables_give_an_error_or_rows_in_order(void **state)
{
	_cleanup_free_ char *data = NULL;
	uint64_t seed = 5, at = 0;
	struct elf_image image;
	struct cfi_stats stats;
	unsigned failed = 0;

	(void)state;
	int original = go_file(GO_1_20, false, plans, ARRAY_SIZE(plans));
	assert_int_equal(elf_read(original, &image), 0);
	size_t bytes = image.file_bytes;
	data = malloc(bytes);
	assert_non_null(data);
	assert_int_equal(elf_pread(original, data, bytes, 0), 0);
	for (unsigned i = 0; i < 20000; i++) {
		_cleanup_rows_ struct rows rows = {0};
		char before[8];

		at = image.gopclntab.offset + random_next(&seed) % (image.gopclntab.bytes - 8);
		memcpy(before, data + at, 8);
		uint64_t value = random_next(&seed);
		memcpy(data + at, &value, 1 + random_next(&seed) % 8);
		_cleanup_close_ int fd = file_of(data, bytes);
		failed += read_rows(fd, &rows, &stats) < 0;
		_cleanup_program_ struct program program = {dup(fd), -1};
		struct looked_up found;
		assert_int_equal(look_up(&program, CODE_OFFSET + BARE * 32, &found), 0);
		memcpy(data + at, before, 8);
	}
	close(original);
	assert_true(failed > 0);
	assert_true(failed < 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_format_has_the_same_rows),
		cmocka_unit_test(a_saved_frame_pointer_is_told_where_the_code_saves_it),
		cmocka_unit_test(functions_that_switch_stacks_are_left_by_the_frame_pointer),
		cmocka_unit_test(roots_and_what_signals_made_are_told),
		cmocka_unit_test(a_stripped_program_has_the_names_of_the_table),
		cmocka_unit_test(files_of_others_have_none),
		cmocka_unit_test(broken_tables_give_an_error_or_rows_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
