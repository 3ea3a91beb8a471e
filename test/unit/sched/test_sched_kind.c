// SPDX-License-Identifier: GPL-2.0-or-later
/* The probes of /sched: no row of THE TABLE lacks a field, and each probe is in THE LIST once. */
#include "unit/lib/unit.h"

#include <ctype.h>
#include <errno.h>

#include "sched/sched_kind.h"

#define MOMENTS (CPU_LOOKED_AT + 1)

/* All members of the row are strings: one that is added is looked at, too. */
static void every_row_has_all_its_fields(void **state)
{
	(void)state;
	for (int i = 0; i < SCHED_COUNT; i++) {
		const struct sched_kind *kind = sched_kind_get(i);
		const char *const *fields = (const char *const *)kind;

		for (size_t field = 0; field < sizeof(*kind) / sizeof(*fields); field++) {
			if (!fields[field] || !*fields[field])
				fail_msg("row %d (%s): field %zu is empty", i,
					 kind->name ? kind->name : "without a name", field);
		}
	}
}

static void names_fit_into_urls_and_metrics(void **state)
{
	(void)state;
	for (int i = 0; i < SCHED_COUNT; i++) {
		const struct sched_kind *kind = sched_kind_get(i);
		size_t help = strlen(kind->metric_help);

		assert_true(strlen(kind->name) < SCHED_NAME_BYTES);
		for (const char *c = kind->name; *c; c++)
			assert_true(islower(*c) || isdigit(*c) || *c == '_');
		assert_memory_equal(kind->metric_name, "sched_", strlen("sched_"));
		for (const char *c = kind->metric_name; *c; c++)
			assert_true(islower(*c) || isdigit(*c) || *c == '_');
		assert_true(isupper(kind->metric_help[0]) && kind->metric_help[help - 1] == '.');
	}
}

static void no_two_probes_have_one_name(void **state)
{
	(void)state;
	for (int i = 0; i < SCHED_COUNT; i++) {
		for (int j = 0; j < i; j++) {
			assert_string_not_equal(sched_kind_get(i)->name, sched_kind_get(j)->name);
			assert_string_not_equal(sched_kind_get(i)->metric_name,
						sched_kind_get(j)->metric_name);
		}
	}
}

static void probes_are_found_by_name_in_any_case(void **state)
{
	(void)state;
	for (int i = 0; i < SCHED_COUNT; i++)
		assert_int_equal(sched_kind_find(sched_kind_get(i)->name), i);
	assert_int_equal(sched_kind_find("RunQSlower"), SCHED_RUNQSLOWER);
	assert_int_equal(sched_kind_find("runq"), -ENOENT);
	assert_int_equal(sched_kind_find(""), -ENOENT);
}

/* doc/sched.md and test/e2e call a probe as THE LIST does. */
static void a_probe_is_called_as_its_number(void **state)
{
#define NUMBER_NAME(number, form, moment, when) #number,
	static const char *const numbers[SCHED_COUNT] = {SCHED_PROBES(NUMBER_NAME)};

	(void)state;
	for (int i = 0; i < SCHED_COUNT; i++)
		assert_int_equal(strcasecmp(sched_kind_get(i)->name, numbers[i]), 0);
}

/* The masks of all forms, and those of all moments, are each bit once. */
static void each_probe_has_one_form_and_one_moment(void **state)
{
	uint32_t forms = 0, moments = 0;

	(void)state;
	for (int i = 0; i < SCHED_FORMS; i++) {
		assert_int_equal(forms & sched_probes_of(i), 0);
		forms |= sched_probes_of(i);
	}
	for (int i = 0; i < MOMENTS; i++) {
		assert_int_equal(moments & sched_probes_at(i), 0);
		moments |= sched_probes_at(i);
	}
	assert_int_equal(forms, (1U << SCHED_COUNT) - 1);
	assert_int_equal(moments, (1U << SCHED_COUNT) - 1);
	for (int i = 0; i < SCHED_COUNT; i++)
		assert_true(sched_probes_of(sched_form(i)) & 1U << i);
}

/* What the programs can do: a switch fills no lengths. */
static void forms_are_counted_where_there_is_a_program_for_them(void **state)
{
	(void)state;
	assert_int_equal(sched_probes_at(CPU_LOOKED_AT), sched_probes_of(SCHED_LENGTHS));
	assert_int_equal(sched_probes_of(SCHED_LENGTHS), 1U << SCHED_RUNQLEN);
	assert_int_equal(sched_probes_of(SCHED_EVENTS),
			 1U << SCHED_RUNQSLOWER | 1U << SCHED_OFFCPUSLOWER);
}

static void each_probe_needs_what_its_moment_needs(void **state)
{
	(void)state;
	for (int i = 0; i < SCHED_COUNT; i++) {
		const struct kind_need *needs = sched_kind_needs(i);
		enum capability last = CAN_NOTHING;

		for (int n = 0; n < KIND_NEEDS_MAX && needs[n].what != CAN_NOTHING; n++)
			last = needs[n].what;
		assert_int_equal(last, i == SCHED_RUNQLEN ? CAN_CPU_CLOCK : CAN_TYPED_TRACEPOINT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_has_all_its_fields),
		cmocka_unit_test(names_fit_into_urls_and_metrics),
		cmocka_unit_test(no_two_probes_have_one_name),
		cmocka_unit_test(probes_are_found_by_name_in_any_case),
		cmocka_unit_test(a_probe_is_called_as_its_number),
		cmocka_unit_test(each_probe_has_one_form_and_one_moment),
		cmocka_unit_test(forms_are_counted_where_there_is_a_program_for_them),
		cmocka_unit_test(each_probe_needs_what_its_moment_needs),
	};

	return cmocka_run_group_tests_name("sched_kind", tests, NULL, NULL);
}
