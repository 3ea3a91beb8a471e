// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include "symbol/kernel_table.h"

static void lines_of_kallsyms_are_told_apart(void **state)
{
	static const struct {
		const char *line, *name;
		int result;
		uint64_t address;
	} lines[] = {
		{"ffffffff81000000 T _stext\n", "_stext", 1, 0xffffffff81000000},
		{"ffffffff81000010 t local_function", "local_function", 1, 0xffffffff81000010},
		{"ffffffffc0401000 t mod_init\t[btrfs]\n", "mod_init", 1, 0xffffffffc0401000},
		{"ffffffffc0401000 t bpf_prog_6deef7357e7b4530_name\t[bpf]\n",
		 "bpf_prog_6deef7357e7b4530_name", 1, 0xffffffffc0401000},
		{"0000000000000000 W weak\n", "weak", 1, 0},
		{"ffffffff82000000 D data\n", "data", 0, 0xffffffff82000000},
		{"ffffffff82000000 A absolute\n", "absolute", 0, 0xffffffff82000000},
		{"0000000000000000 a fixed_percpu_data\n", "fixed_percpu_data", 0, 0},
		{"", NULL, -EINVAL, 0},
		{"\n", NULL, -EINVAL, 0},
		{"xyz T name\n", NULL, -EINVAL, 0},
		{"ffffffff81000000", NULL, -EINVAL, 0},
		{"ffffffff81000000 ", NULL, -EINVAL, 0},
		{"ffffffff81000000 T", NULL, -EINVAL, 0},
		{"ffffffff81000000 TT name\n", NULL, -EINVAL, 0},
		{"ffffffff81000000\tT name\n", NULL, -EINVAL, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		char line[128];
		uint64_t address = 0;
		const char *name = NULL;

		strcpy(line, lines[i].line);
		assert_int_equal(kernel_table_parse_line(line, &address, &name), lines[i].result);
		if (lines[i].result < 0)
			continue;
		assert_true(address == lines[i].address);
		assert_string_equal(name, lines[i].name);
	}
}

static void read_text(struct kernel_table *table, const char *text)
{
	FILE *file = fmemopen((char *)text, strlen(text), "r");

	*table = (struct kernel_table){.list = BUF_INIT(1 << 20)};
	assert_non_null(file);
	assert_int_equal(kernel_table_read(table, file), 0);
	fclose(file);
}

static void assert_found(const struct kernel_table *table, uint64_t address, const char *name,
			 uint64_t begins)
{
	struct kernel_function found;
	char whole[KERNEL_NAME_BYTES + 8];

	if (!name) {
		assert_false(kernel_table_find(table, address, &found));
		return;
	}
	assert_true(kernel_table_find(table, address, &found));
	snprintf(whole, sizeof(whole), "%s%s", found.prefix, found.name);
	assert_string_equal(whole, name);
	assert_true(found.address == begins);
}

static void padding_is_a_functions_own_or_alone(void **state)
{
	struct kernel_table table;

	(void)state;
	read_text(&table, "00001000 T first\n"
			  "00001ff0 t __pfx_second\n"
			  "00002000 t second\n"
			  "00003000 t __pfx_far\n" /* too far before its function */
			  "00003100 t far\n"
			  "00003ff0 t __pfx_a\n" /* those of two names for one function */
			  "00003ff0 t __pfx_b\n"
			  "00004000 t a\n"
			  "00004000 t b\n"
			  "00005010 t __pfx_behind\n" /* begins behind its function */
			  "00005000 t behind\n"
			  "00006000 D data\n"
			  "00000500 t [unsorted]\n"
			  "00007000 t __pfx_last\n");
	assert_found(&table, 0x4ff, NULL, 0);
	assert_found(&table, 0x500, "[unsorted]", 0x500);
	assert_found(&table, 0x1000, "first", 0x1000);
	assert_found(&table, 0x1fef, "first", 0x1000);
	assert_found(&table, 0x1ff0, "__pfx_second", 0x1ff0);
	assert_found(&table, 0x1fff, "__pfx_second", 0x1ff0);
	assert_found(&table, 0x2000, "second", 0x2000);
	assert_found(&table, 0x2fff, "second", 0x2000);
	assert_found(&table, 0x3000, "__pfx_far", 0x3000);
	assert_found(&table, 0x3100, "far", 0x3100);
	assert_found(&table, 0x3ff0, "__pfx_a", 0x3ff0);
	assert_found(&table, 0x4000, "a", 0x4000);
	assert_found(&table, 0x4fff, "a", 0x4000);
	assert_found(&table, 0x5000, "behind", 0x5000);
	assert_found(&table, 0x5010, "__pfx_behind", 0x5010);
	assert_found(&table, 0x7000, "__pfx_last", 0x7000);
	assert_found(&table, UINT64_MAX, "__pfx_last", 0x7000);
	assert_true(kernel_table_address(&table, "second") == 0x2000);
	assert_true(kernel_table_address(&table, "__pfx_second") == 0);
	kernel_table_done(&table);
}

static void of_many_at_one_address_the_first_counts(void **state)
{
	_cleanup_buf_ struct buf text = BUF_INIT(1 << 20);
	struct kernel_table table;

	(void)state;
	for (unsigned i = 0; i < 40; i++)
		buf_printf(&text, "%08x t before_%u\n", 0x1000 + 16 * i, i);
	for (unsigned i = 0; i < 300; i++)
		buf_printf(&text, "00005000 t __same_%u.part\n", i);
	for (unsigned i = 0; i < 300; i++)
		buf_printf(&text, "00006ff0 t __pfx_next_%u\n00007000 t next_%u\n", i, i);
	for (unsigned i = 0; i < 40; i++)
		buf_printf(&text, "ffffffff%08x t after_%u\n", 0x1000 + 16 * i, i);
	buf_char(&text, '\0');
	read_text(&table, text.data);
	assert_found(&table, 0x100f, "before_0", 0x1000);
	assert_found(&table, 0x1000 + 16 * 39, "before_39", 0x1000 + 16 * 39);
	assert_found(&table, 0x5000, "__same_0.part", 0x5000);
	assert_found(&table, 0x6fef, "__same_0.part", 0x5000);
	assert_found(&table, 0x6ff0, "__pfx_next_0", 0x6ff0);
	assert_found(&table, 0x7000, "next_0", 0x7000);
	assert_found(&table, 0xffffffff00001027, "after_2", 0xffffffff00001020);
	assert_true(kernel_table_address(&table, "next_299") == 0x7000);
	assert_true(kernel_table_address(&table, "after_39") == 0xffffffff00001000 + 16 * 39);
	kernel_table_done(&table);
}

static void names_are_kept_to_the_letter(void **state)
{
	static const char *const names[] = {
		"a",	 "_",	 "__a__b_", "..a..b.",	      "a.b_c",
		"_._._", "a__b", "$x.0",    "_R$NvXs2_4core", "bpf_prog_6deef7357e7b4530_name"};
	_cleanup_buf_ struct buf text = BUF_INIT(1 << 20);
	char whole[2 * KERNEL_NAME_BYTES] = "x";
	struct kernel_table table;

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		buf_printf(&text, "%08x t %s\n", 0x1000 + i, names[i]);
	memset(whole, 'x', sizeof(whole) - 1);
	buf_printf(&text, "00002000 t %s\n00003000 t %s_y", whole, names[0]);
	buf_char(&text, '\0');
	read_text(&table, text.data);
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		assert_found(&table, 0x1000 + i, names[i], 0x1000 + i);
	whole[KERNEL_NAME_BYTES - 1] = '\0';
	assert_found(&table, 0x2000, whole, 0x2000);
	assert_found(&table, 0x3000, "a_y", 0x3000);
	kernel_table_done(&table);
}

static void what_is_hidden_or_empty_is_an_error(void **state)
{
	static const char *const texts[] = {"00000000 T a\n00000000 t b\n", "nothing\n"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct kernel_table table = {.list = BUF_INIT(4096)};
		FILE *file = fmemopen((char *)texts[i], strlen(texts[i]), "r");

		assert_int_equal(kernel_table_read(&table, file), -EACCES);
		fclose(file);
		kernel_table_done(&table);
	}
}

static void names_without_room_are_an_error(void **state)
{
	static const char text[] = "00001000 T a_name_of_some_length\n00002000 T another\n";
	struct kernel_table table = {.list = BUF_INIT(24)};
	FILE *file = fmemopen((char *)text, strlen(text), "r");

	(void)state;
	assert_true(kernel_table_read(&table, file) < 0);
	fclose(file);
	kernel_table_done(&table);
}

struct listed {
	uint64_t address;
	char name[200];
};

static int by_address(const void *a, const void *b)
{
	const struct listed *left = a, *right = b;

	return left->address < right->address ? -1 : left->address > right->address;
}

/* All that this kernel lists, in order of address, each name of its own. */
static size_t list(struct listed **ret)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	size_t count = 0, room = 400000;
	struct listed *all = calloc(room, sizeof(*all));
	char line[1024];

	assert_non_null(file);
	assert_non_null(all);
	while (fgets(line, sizeof(line), file) && count < room) {
		const char *name;

		if (kernel_table_parse_line(line, &all[count].address, &name) != 1 ||
		    !all[count].address)
			continue;
		assert_true(strlen(name) < sizeof(all->name));
		strcpy(all[count++].name, name);
	}
	fclose(file);
	qsort(all, count, sizeof(*all), by_address);
	*ret = all;
	return count;
}

/* One of the names that begin there. */
static void assert_one_of(const struct listed *all, size_t count, size_t at, const char *name)
{
	for (size_t i = at; i < count && all[i].address == all[at].address; i++) {
		if (strcmp(all[i].name, name) == 0)
			return;
	}
	fail_msg("%s isn't %s", name, all[at].name);
}

static bool is_same(const struct listed *left, size_t left_count, const struct listed *right,
		    size_t right_count)
{
	for (size_t i = 0; i < left_count && left_count == right_count; i++) {
		if (left[i].address != right[i].address)
			return false;
	}
	return left_count == right_count;
}

/* The table, and the list that was the same before and after it was read: others load BPF programs
 * meanwhile. */
static size_t read_at_rest(struct kernel_table *table, struct listed **ret)
{
	struct listed *before, *after;
	size_t count = list(&before), later;

	for (unsigned i = 0; i < 100; i++) {
		FILE *file = fopen("/proc/kallsyms", "re");

		*table = (struct kernel_table){.list = BUF_INIT(256u << 20)};
		assert_int_equal(kernel_table_read(table, file), count ? 0 : -EACCES);
		fclose(file);
		later = list(&after);
		if (is_same(before, count, after, later)) {
			free(before);
			*ret = after;
			return count;
		}
		free(before);
		kernel_table_done(table);
		before = after;
		count = later;
	}
	fail_msg("the kernel's functions never stayed the same");
	return 0;
}

static void each_function_of_this_kernel_is_found(void **state)
{
	struct kernel_table table;
	struct listed *all = NULL;
	size_t count = read_at_rest(&table, &all);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		struct kernel_function found;
		char whole[KERNEL_NAME_BYTES + 8];

		if (i && all[i].address == all[i - 1].address)
			continue;
		for (unsigned later = 0; later < 2; later++) {
			assert_true(kernel_table_find(&table, all[i].address + later, &found));
			snprintf(whole, sizeof(whole), "%s%s", found.prefix, found.name);
			if (found.address == all[i].address) /* else another begins there */
				assert_one_of(all, count, i, whole);
			assert_true(found.address == all[i].address ||
				    found.address == all[i].address + later);
		}
	}
	free(all);
	kernel_table_done(&table);
}

static void the_code_of_functions_ends_at_the_next_symbol(void **state)
{
	static char text[] = "ffffffff81000000 T first\n"
			     "ffffffff81000040 T first_and_more\n"
			     "ffffffff81000080 t wanted\n"
			     "ffffffff81000080 t wanted.isra.0\n"
			     "ffffffff810000c0 t wanted.part.0\n"
			     "ffffffff81000100 D some_data\n"
			     "ffffffff81000140 t first\n";
	static const char *const names[] = {"first", "wanted", NULL};
	struct kernel_range ranges[8];
	FILE *file = fmemopen(text, strlen(text), "r");

	(void)state;
	assert_int_equal(kernel_table_ranges(file, names, ranges, 8), 3);
	assert_int_equal(ranges[0].from, 0xffffffff81000000);
	assert_int_equal(ranges[0].to, 0xffffffff81000040);
	assert_int_equal(ranges[0].name, 0);
	assert_int_equal(ranges[1].name, 1);
	assert_int_equal(ranges[1].from, 0xffffffff81000080);
	assert_int_equal(ranges[1].to, 0xffffffff810000c0);
	assert_int_equal(ranges[2].from, 0xffffffff810000c0);
	assert_int_equal(ranges[2].to, 0xffffffff81000100);
	rewind(file);
	assert_int_equal(kernel_table_ranges(file, names, ranges, 2), 2);
	fclose(file);
}

static void hidden_addresses_have_no_ranges(void **state)
{
	static char text[] = "0000000000000000 T first\n0000000000000000 T second\n";
	static const char *const names[] = {"first", NULL};
	struct kernel_range ranges[1];
	FILE *file = fmemopen(text, strlen(text), "r");

	(void)state;
	assert_int_equal(kernel_table_ranges(file, names, ranges, 1), -EACCES);
	fclose(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_kallsyms_are_told_apart),
		cmocka_unit_test(padding_is_a_functions_own_or_alone),
		cmocka_unit_test(of_many_at_one_address_the_first_counts),
		cmocka_unit_test(names_are_kept_to_the_letter),
		cmocka_unit_test(what_is_hidden_or_empty_is_an_error),
		cmocka_unit_test(names_without_room_are_an_error),
		cmocka_unit_test(each_function_of_this_kernel_is_found),
		cmocka_unit_test(the_code_of_functions_ends_at_the_next_symbol),
		cmocka_unit_test(hidden_addresses_have_no_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
