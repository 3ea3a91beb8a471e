// SPDX-License-Identifier: GPL-2.0-or-later
/* The rows of params: each is whole, and each counts when params are compared. */
#include "unit/lib/unit.h"

#include "kind/kind.h"
#include "sched/sched_params.h"
#include "session/session_params.h"

static const struct param *row_of(const struct param_table *table, const char *name)
{
	for (size_t i = 0; i < table->count; i++) {
		if (strcmp(table->rows[i].name, name) == 0)
			return &table->rows[i];
	}
	return NULL;
}

static bool is_number(const struct param *row)
{
	return row->type == PARAM_NUMBER || row->type == PARAM_CHOICE;
}

static int64_t choices_of(const struct param *row)
{
	int64_t count = 0;

	while (row->choices[count])
		count++;
	return count;
}

static void check_number(const struct param *row)
{
	int64_t max = row->type == PARAM_CHOICE ? choices_of(row) - 1 : row->max;

	assert_int_equal(row->offset % sizeof(int64_t), 0);
	assert_true(row->offset + sizeof(int64_t) <= sizeof(struct params));
	assert_true(max > row->min);
	if (!row->instead_of) /* at its default, such a row is unset */
		assert_true(row->number >= row->min && row->number <= max);
}

static void check_rows(const struct param_table *table)
{
	assert_true(table->count > 0);
	for (size_t i = 0; i < table->count; i++) {
		const struct param *row = &table->rows[i];

		assert_true(row->name && row->name[0]);
		assert_ptr_equal(row_of(table, row->name), row); /* no other has that name */
		assert_true(row->alias || (row->help && row->help[0]));
		assert_true(!row->logged || row->unit);
		if (row->instead_of)
			assert_non_null(row_of(table, row->instead_of));
		if (is_number(row)) {
			check_number(row);
			continue;
		}
		assert_non_null(row->text);
		assert_true(row->bytes > strlen(row->text));
		assert_true(row->offset + row->bytes <= sizeof(struct params));
	}
}

static void every_row_is_whole(void **state)
{
	(void)state;
	check_rows(flamegraph_params());
	check_rows(sched_params());
}

static void every_row_of_a_probe_is_in_the_table(void **state)
{
	(void)state;
	for (int probe = 0; probe < PROBE_COUNT; probe++) {
		const struct param *row = kind_get(probe)->params;
		size_t count = 0;

		for (; row && row->name; row++, count++) {
			const struct param *shown = row_of(flamegraph_params(), row->name);

			assert_non_null(shown);
			assert_int_equal(shown->offset,
					 offsetof(struct params, probes[probe]) + row->offset);
			assert_true(row->offset + sizeof(int64_t) <= PROBE_SETTINGS_BYTES);
			assert_true(is_number(row));
		}
		assert_true(count <= PROBE_PARAMS_MAX);
	}
}

static void change_value(const struct param *row, const struct params *params)
{
	if (is_number(row))
		*param_number(row, params) ^= 1;
	else
		param_text(row, params)[0] ^= 1;
}

/* A row that nobody compares would be taken by PUT and change nothing. */
static void a_change_of_any_value_is_seen_in_its_scope_alone(void **state)
{
	const struct param_table *table = flamegraph_params();

	(void)state;
	for (size_t i = 0; i < table->count; i++) {
		enum param_scope scope = table->rows[i].scope;
		enum param_scope other =
			scope == PARAM_OF_FILES ? PARAM_OF_UPLOADS : PARAM_OF_FILES;
		struct params before, after;

		params_default(table, &before);
		after = before;
		assert_true(params_equal(table, scope, &before, &after));
		change_value(&table->rows[i], &after);
		assert_false(params_equal(table, scope, &before, &after));
		assert_true(params_equal(table, other, &before, &after));
	}
}

static void defaults_of_a_probe_are_those_of_the_feature(void **state)
{
	struct params params;

	(void)state;
	params_default(flamegraph_params(), &params);
	for (int probe = 0; probe < PROBE_COUNT; probe++) {
		union probe_settings alone = {0};

		params_default_rows(kind_get(probe)->params, &alone);
		assert_memory_equal(&alone, &params.probes[probe], sizeof(alone));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_whole),
		cmocka_unit_test(every_row_of_a_probe_is_in_the_table),
		cmocka_unit_test(a_change_of_any_value_is_seen_in_its_scope_alone),
		cmocka_unit_test(defaults_of_a_probe_are_those_of_the_feature),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
