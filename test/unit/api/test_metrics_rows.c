// SPDX-License-Identifier: GPL-2.0-or-later
/* All rows that there are: their form, and that /metrics has each of them and nothing else. */
#include "unit/lib/buf_text.h"
#include "unit/lib/scripted_api.h"

#include "api/metrics/metrics.h"

static const struct metrics_owner *owners;
static size_t owners_count;

/* Calls each() for all rows of all owners. */
static void each_row(void (*each)(void *arg, const struct measures *table,
				  const struct measure *row),
		     void *arg)
{
	owners = metrics_owners(&owners_count);
	for (size_t i = 0; i < owners_count; i++) {
		const struct measures *table = owners[i].measures;

		assert_true(table->count > 0);
		for (size_t k = 0; k < table->count; k++)
			each(arg, table, &table->rows[k]);
	}
}

static void assert_word(const char *text)
{
	assert_true(text[0] >= 'a' && text[0] <= 'z');
	if (text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_")])
		fail_msg("no name: %s", text);
}

static bool ends_in(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len > end_len && strcmp(text + len - end_len, end) == 0;
}

static void check_name(void *arg, const struct measures *table, const struct measure *row)
{
	static const char *const foreign[] = {"_ns", "_us",  "_ms",  "_s",	 "_kb",
					      "_mb", "_kib", "_mib", "_minutes", "_percent"};

	(void)arg, (void)table;
	if (!row->name)
		return;
	assert_word(row->name);
	if (ends_in(row->name, "_total") != (row->type == COUNTER))
		fail_msg("%s is no name of its type", row->name);
	for (size_t i = 0; i < ARRAY_SIZE(foreign); i++) {
		_cleanup_free_ char *of_counter = NULL;

		assert_true(asprintf(&of_counter, "%s_total", foreign[i]) > 0);
		if (ends_in(row->name, foreign[i]) || ends_in(row->name, of_counter))
			fail_msg("%s: its unit is no base unit", row->name);
	}
}

static void names_tell_the_type_and_have_base_units(void **state)
{
	(void)state;
	each_row(check_name, NULL);
}

static void check_help(void *arg, const struct measures *table, const struct measure *row)
{
	const struct measure *before = row - 1;

	(void)arg;
	if (row->help) {
		assert_true(strlen(row->help) > 5);
		assert_true(ends_in(row->help, "."));
		assert_null(strpbrk(row->help, "|\n\\"));
		return;
	}
	/* A further series of the one before, by another value of the same label. */
	assert_true(row > table->rows);
	assert_string_equal(row->name, before->name);
	assert_int_equal(row->type, before->type);
	assert_ptr_equal(row->label, before->label);
	assert_string_not_equal(row->label_is, before->label_is);
}

static void each_name_has_a_sentence(void **state)
{
	(void)state;
	each_row(check_help, NULL);
}

static void check_labels(void *arg, const struct measures *table, const struct measure *row)
{
	const struct measure_label *label = row->label;

	(void)arg;
	if (table->scope == OF_EACH)
		assert_word(table->each->name);
	if (!label)
		return;
	assert_word(label->name);
	if (row->label_is) {
		assert_word(row->label_is);
		return;
	}
	assert_true(label->end > label->first || row->texts_max);
	for (unsigned i = label->first; i < label->end; i++) {
		assert_word(label->value_name(i));
		for (unsigned k = label->first; k < i; k++)
			assert_string_not_equal(label->value_name(i), label->value_name(k));
	}
}

static void labels_have_names_and_so_have_their_values(void **state)
{
	(void)state;
	each_row(check_labels, NULL);
}

static void check_number(void *arg, const struct measures *table, const struct measure *row)
{
	unsigned ways = !!row->count + !!row->seconds + !!row->bytes;

	(void)arg;
	assert_true(row->name || row->json);
	if (table->write) {
		assert_int_equal(ways, 0);
		return;
	}
	assert_true(ways == 1 || (ways == 0 && row->lines && !row->json));
	if (row->bytes)
		assert_true(row->bytes == sizeof(uint64_t) || row->bytes == sizeof(uint32_t));
	if (!row->json)
		return;
	assert_word(row->json);
	assert_null(row->seconds);
	assert_true(strcmp(table->path, "status") == 0 || strncmp(table->path, "status.", 7) == 0);
}

static void each_row_has_one_number(void **state)
{
	(void)state;
	each_row(check_number, NULL);
}

/* ---- no two rows have one name, or one key ---- */

struct twin {
	const struct measures *table;
	const struct measure *row;
};

static void compare_twin(void *arg, const struct measures *table, const struct measure *row)
{
	const struct twin *twin = arg;

	if (row == twin->row)
		return;
	if (row->name && row->help && twin->row->name && twin->row->help &&
	    strcmp(measures_prefix(table), measures_prefix(twin->table)) == 0)
		assert_string_not_equal(row->name, twin->row->name);
	if (row->json && twin->row->json && strcmp(table->path, twin->table->path) == 0)
		assert_string_not_equal(row->json, twin->row->json);
}

static void compare_all(void *arg, const struct measures *table, const struct measure *row)
{
	struct twin twin = {table, row};

	(void)arg;
	each_row(compare_twin, &twin);
}

static void no_two_rows_have_one_name_or_one_key(void **state)
{
	(void)state;
	each_row(compare_all, NULL);
}

static void tables_with_one_title_follow_each_other(void **state)
{
	(void)state;
	owners = metrics_owners(&owners_count);
	for (size_t i = 2; i < owners_count; i++) {
		const char *title = owners[i].measures->title;

		if (strcmp(title, owners[i - 1].measures->title) == 0)
			continue;
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(title, owners[k].measures->title);
	}
}

/* ---- /metrics has each of them ---- */

struct page {
	const char *text;
	unsigned rows;
};

static void find_row(void *arg, const struct measures *table, const struct measure *row)
{
	struct page *page = arg;
	_cleanup_buf_ struct buf head = BUF_INIT(1024);

	if (!row->name || !row->help)
		return;
	measures_head(&head, table, row);
	_cleanup_free_ char *lines = take_text(&head, NULL);
	if (!strstr(page->text, lines))
		fail_msg("/metrics hasn't: %s", lines);
	page->rows++;
}

static void metrics_have_each_row_and_nothing_else(void **state)
{
	struct scripted_api *api = *state;
	struct page page = {0};
	unsigned heads = 0;

	api_put(api, "/sched",
		"{\"cmd\":{\"probe\":[\"runqlat\",\"runqlen\",\"runqslower\",\"cpudist\","
		"\"offcpudist\",\"firstrun\"]},\"state\":\"running\"}");
	scripted->hists_rows[0] = (struct hist_row){.hist = {.slots = {1, 2, 3}}};
	scripted->hists_count = 1;
	scripted->lengths.slots[1] = 1;
	page.text = api_get(api, "/metrics")->body;
	each_row(find_row, &page);
	for (const char *at = page.text; (at = strstr(at, "# HELP ")); at++)
		heads++;
	assert_int_equal(heads, page.rows);
	assert_true(heads >= 122);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_tell_the_type_and_have_base_units),
		cmocka_unit_test(each_name_has_a_sentence),
		cmocka_unit_test(labels_have_names_and_so_have_their_values),
		cmocka_unit_test(each_row_has_one_number),
		cmocka_unit_test(no_two_rows_have_one_name_or_one_key),
		cmocka_unit_test(tables_with_one_title_follow_each_other),
		cmocka_unit_test_setup_teardown(metrics_have_each_row_and_nothing_else,
						api_begin_worker, api_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
