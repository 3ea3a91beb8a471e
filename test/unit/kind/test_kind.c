// SPDX-License-Identifier: GPL-2.0-or-later
/* Whether a probe can run, by what was found of its needs. */
#include "unit/lib/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bpf/shared/io_calls.h"
#include "kind/kind.h"
#include "profile/view.h"

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

	kind_judge(&kind, findings, NULL, &finding);
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
	assert_string_equal(judged().reason, "it needs tp_btf or raw_tracepoint");
	assert_string_equal(judged().remedy, "x; y");
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
	lacks(CAN_KPROBE, "");
	assert_int_equal(judged().state, FINDING_NO);
	assert_string_equal(judged().reason, "it needs uprobe or kprobe");
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

static void off_cpu_needs_a_typed_tracepoint_and_nothing_stands_in(void **state)
{
	struct finding finding;

	(void)state;
	all_is_there();
	lacks(CAN_TYPED_TRACEPOINT, "x");
	kind_judge(kind_get(PROBE_OFFCPU), findings, NULL, &finding);
	assert_int_equal(finding.state, FINDING_NO);
	assert_string_equal(finding.reason, "it needs tp_btf");
	all_is_there();
	lacks(CAN_ITERATE_SLEEPABLE, "x");
	kind_judge(kind_get(PROBE_OFFCPU), findings, NULL, &finding);
	assert_int_equal(finding.state, FINDING_LIMITED);
}

static void allocations_need_sessions_or_returns(void **state)
{
	struct finding finding;

	(void)state;
	all_is_there();
	lacks(CAN_URETPROBE, "add CAP_SYS_ADMIN");
	kind_judge(kind_get(PROBE_MEM_GLIBC), findings, NULL, &finding);
	assert_int_equal(finding.state, FINDING_YES);
	lacks(CAN_UPROBE_SESSION, "none but a newer kernel");
	kind_judge(kind_get(PROBE_MEM_GLIBC), findings, NULL, &finding);
	assert_int_equal(finding.state, FINDING_NO);
	assert_string_equal(finding.reason, "it needs uprobe_session or uretprobe");
	assert_string_equal(finding.remedy, "add CAP_SYS_ADMIN");
	findings[CAN_URETPROBE].state = FINDING_YES;
	kind_judge(kind_get(PROBE_MEM_GLIBC), findings, NULL, &finding);
	assert_int_equal(finding.state, FINDING_LIMITED);
}

static void times_are_rounded_up_to_the_unit(void **state)
{
	(void)state;
	assert_int_equal(kind_weight(PROBE_ONCPU, PART_ALL, 1), 1);
	assert_int_equal(kind_weight(PROBE_OFFCPU, PART_ALL, 0), 0);
	assert_int_equal(kind_weight(PROBE_OFFCPU, PART_ALL, 1), 1);
	assert_int_equal(kind_weight(PROBE_OFFCPU, PART_ALL, 1000), 1);
	assert_int_equal(kind_weight(PROBE_OFFCPU, PART_ALL, 1001), 2);
	assert_true(kind_weight(PROBE_OFFCPU, PART_ALL, UINT64_MAX) == UINT64_MAX / 1000 + 1);
	assert_int_equal(kind_weight(PROBE_IO, 1, 1001), 1001);
	assert_int_equal(kind_weight(PROBE_IO, 1 | PART_SECOND, 1001), 2);
}

static void parts_have_the_leaf_frames_of_their_probe(void **state)
{
	struct part_named room;
	const struct part_row *part = kind_part(PROBE_IO, IO_PART(IO_WRITE, IO_TTY), &room);

	(void)state;
	assert_string_equal(part->frames[0], "[write]");
	assert_string_equal(part->frames[1], "[tty]");
	assert_ptr_equal(kind_part(PROBE_IO, IO_PART(IO_WRITE, IO_TTY) | PART_SECOND, &room), part);
	assert_null(kind_part(PROBE_IO, PART_ALL, &room));
	assert_null(kind_part(PROBE_IO, PART_SECOND, &room));
	assert_null(kind_part(PROBE_IO, IO_PART(IO_DIRECTIONS, 0), &room));
	assert_string_equal(kind_part(PROBE_OFFCPU, PART_RUNQUEUE, &room)->frames[0], "[runqueue]");
	assert_null(kind_part(PROBE_ONCPU, 1, &room));
	assert_true(kind_counts_events(PROBE_IO, 1));
	assert_false(kind_counts_events(PROBE_IO, 1 | PART_SECOND));
}

static void name_slots(void)
{
	char word[EVENT_WORD_BYTES];

	for (int i = PROBE_SLOT_FIRST; i < PROBE_COUNT; i++) {
		snprintf(word, sizeof(word), "e-%d", i);
		kind_define(i, word);
	}
}

static void a_probe_that_users_define_exists_once_it_has_a_name(void **state)
{
	(void)state;
	assert_true(kind_exists(PROBE_ONCPU));
	assert_false(kind_exists(PROBE_EVENT_3));
	assert_int_equal(kind_find(""), -ENOENT);
	kind_define(PROBE_EVENT_3, "reads-2");
	assert_true(kind_exists(PROBE_EVENT_3));
	assert_int_equal(kind_find("event:Reads-2"), PROBE_EVENT_3);
	assert_string_equal(kind_get(PROBE_EVENT_3)->title, "Event reads-2");
	assert_string_equal(kind_get(PROBE_EVENT_3)->upload.series, "event_reads_2");
	assert_string_equal(kind_get(PROBE_EVENT_3)->upload.app, "stackprobe-event-reads-2");
}

static void its_slot_is_free_some_time_after_it_has_stopped(void **state)
{
	struct kind_slot *slot = kind_get(PROBE_EVENT_3)->slot;

	(void)state;
	assert_false(kind_is_free(PROBE_ONCPU, 1));
	assert_true(kind_is_free(PROBE_EVENT_3, 1));
	slot->is_on = true;
	assert_false(kind_is_free(PROBE_EVENT_3, 1));
	slot->is_on = false;
	slot->free_ns = 5;
	assert_false(kind_is_free(PROBE_EVENT_3, 4));
	assert_true(kind_is_free(PROBE_EVENT_3, 5));
}

/* A NULL in a row would be found by the first picture, pprof or upload of that probe. */
static void every_probe_has_all_its_words(void **state)
{
	(void)state;
	name_slots();
	for (int i = 0; i < PROBE_COUNT; i++) {
		const struct kind *row = kind_get(i);

		assert_non_null(row->name);
		assert_int_equal(kind_find(row->name), i);
		assert_non_null(row->title);
		assert_non_null(row->count_name);
		assert_true(!row->event_name == !row->event_title);
		assert_non_null(row->pprof.values[0].type);
		assert_non_null(row->pprof.values[0].unit);
		assert_non_null(row->pprof.period_type);
		assert_non_null(row->pprof.period_unit);
		assert_non_null(row->upload.series);
		assert_non_null(row->upload.app);
		assert_non_null(row->upload.suffix);
		assert_non_null(row->upload.units);
		assert_int_not_equal(row->deepflow, 0);
		assert_int_not_equal(row->needs[0].what, CAN_NOTHING);
		assert_non_null(row->start);
		assert_non_null(row->stop);
		for (const struct pprof_page *page = row->pages; page && page->name; page++)
			assert_non_null(page->words);
	}
}

static void every_view_has_all_its_words(void **state)
{
	(void)state;
	for (int i = 0; i < PROBE_COUNT; i++) {
		for (int j = 0; j < VIEWS; j++) {
			const struct view_row *view = view_get(i, j);

			assert_true(view || j != VIEW_ALL);
			if (!view)
				continue;
			assert_non_null(view->name);
			assert_non_null(view->folder);
			assert_non_null(view->title);
			assert_non_null(view->pprof);
			assert_true(!view->event_name == !view->event_title);
		}
	}
}

/* What only one probe can be is asked of the first one. */
static void one_probe_is_of_the_clock_and_one_of_the_heap(void **state)
{
	int by_period = 0, holds = 0;

	(void)state;
	for (int i = 0; i < PROBE_COUNT; i++) {
		by_period += kind_get(i)->by_period;
		holds += kind_get(i)->holds;
	}
	assert_int_equal(by_period, 1);
	assert_int_equal(holds, 1);
	assert_true(kind_get(kind_of_clock())->by_period);
	assert_true(kind_get(kind_of_heap())->holds);
	assert_int_not_equal(kinds_at_switch(), 0);
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
		cmocka_unit_test(off_cpu_needs_a_typed_tracepoint_and_nothing_stands_in),
		cmocka_unit_test(allocations_need_sessions_or_returns),
		cmocka_unit_test(times_are_rounded_up_to_the_unit),
		cmocka_unit_test(parts_have_the_leaf_frames_of_their_probe),
		cmocka_unit_test(a_probe_that_users_define_exists_once_it_has_a_name),
		cmocka_unit_test(its_slot_is_free_some_time_after_it_has_stopped),
		cmocka_unit_test(every_probe_has_all_its_words),
		cmocka_unit_test(every_view_has_all_its_words),
		cmocka_unit_test(one_probe_is_of_the_clock_and_one_of_the_heap),
		cmocka_unit_test(every_row_has_all_its_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
