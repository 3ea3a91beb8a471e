// SPDX-License-Identifier: GPL-2.0-only
/* Whether a probe can run, by what was found of its needs. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "profile/kind.h"

static struct finding findings[CAPABILITY_COUNT];

static const struct kind kind = {
	.name = "made up",
	.needs = {{.what = CAN_RING_BUFFER},
		  {.what = CAN_TYPED_TRACEPOINT, .instead = CAN_RAW_TRACEPOINT},
		  {.what = CAN_TASK_STORAGE, .limit = "short stacks"},
		  {.what = CAN_UPROBE, .instead = CAN_KPROBE, .limit = "slow"}},
};

static void all_is_there(void)
{
	for (int i = 0; i < CAPABILITY_COUNT; i++)
		findings[i] = (struct finding){.state = FINDING_YES};
}

static void lacks(enum capability which, const char *remedy)
{
	findings[which] = (struct finding){.state = FINDING_NO, .reason = "refused"};
	snprintf(findings[which].remedy, sizeof(findings[which].remedy), "%s", remedy);
}

static struct finding judged(void)
{
	struct finding finding;

	kind_judge(&kind, findings, &finding);
	return finding;
}

static void all_needs_met_is_yes(void **state)
{
	(void)state;
	all_is_there();
	assert_int_equal(judged().state, FINDING_YES);
	assert_string_equal(judged().reason, "");
}

static void what_stands_in_is_as_good_without_a_limit(void **state)
{
	(void)state;
	all_is_there();
	lacks(CAN_TYPED_TRACEPOINT, "x");
	assert_int_equal(judged().state, FINDING_YES);
	lacks(CAN_RAW_TRACEPOINT, "y");
	assert_int_equal(judged().state, FINDING_NO);
	assert_non_null(strstr(judged().reason, "tp_btf"));
	assert_string_equal(judged().remedy, "x");
}

static void a_need_with_a_limit_limits(void **state)
{
	(void)state;
	all_is_there();
	lacks(CAN_TASK_STORAGE, "none but a newer kernel");
	assert_int_equal(judged().state, FINDING_LIMITED);
	assert_string_equal(judged().reason, "short stacks");
	assert_string_equal(judged().remedy, "");
	lacks(CAN_UPROBE, "add it");
	assert_int_equal(judged().state, FINDING_LIMITED);
	assert_string_equal(judged().reason, "short stacks; slow");
	assert_string_equal(judged().remedy, "add it");
}

static void a_limited_need_limits_by_its_own_reason(void **state)
{
	(void)state;
	all_is_there();
	findings[CAN_RING_BUFFER] =
		(struct finding){.state = FINDING_LIMITED, .reason = "small", .remedy = "grow"};
	assert_int_equal(judged().state, FINDING_LIMITED);
	assert_string_equal(judged().reason, "small");
	assert_string_equal(judged().remedy, "grow");
}

static void what_stops_it_is_said_without_limits(void **state)
{
	(void)state;
	all_is_there();
	lacks(CAN_RING_BUFFER, "boot");
	lacks(CAN_TASK_STORAGE, "other");
	struct finding finding = judged();
	assert_int_equal(finding.state, FINDING_NO);
	assert_string_equal(finding.reason, "it needs ring_buffer");
	assert_string_equal(finding.remedy, "boot");
}

static void every_row_has_all_its_words(void **state)
{
	(void)state;
	for (int i = CAN_NOTHING + 1; i < CAPABILITY_COUNT; i++) {
		const struct capability_row *row = capability_row(i);

		assert_non_null(row->group);
		assert_non_null(row->use);
		assert_non_null(row->try);
		assert_true(row->name && row->name[0]);
		for (int j = CAN_NOTHING + 1; j < i; j++)
			assert_string_not_equal(row->name, capability_row(j)->name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_needs_met_is_yes),
		cmocka_unit_test(what_stands_in_is_as_good_without_a_limit),
		cmocka_unit_test(a_need_with_a_limit_limits),
		cmocka_unit_test(a_limited_need_limits_by_its_own_reason),
		cmocka_unit_test(what_stops_it_is_said_without_limits),
		cmocka_unit_test(every_row_has_all_its_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
