// SPDX-License-Identifier: GPL-2.0-or-later
/* The feature /proc over a scripted tracer: when it reads, what is before its start, who waits. */
#include "unit/engine/engine_scene.h"

#include <sys/mman.h>
#include <unistd.h>

#include "costs/accounting.h"

static struct {
	struct scene *scene;
	struct accounting *accounting;
	struct spec spec;
	struct why why;
	bool answered;
	unsigned answers;
	enum cost_probe probe;
	unsigned times;
	int error;
	uint64_t run_ns, processes;
} test;

static int begin(void **state)
{
	struct params params = {.proc = {.group_by = COST_BY_NONE, .report_period_s = 600}};
	int r = scene_begin(state);
	const struct core *core = &((struct scene *)*state)->core.core;
	struct accounting_setup setup = {core->loop, core->engine, core->bulk, params.proc};

	memset(&test, 0, sizeof(test));
	test.times = 1;
	test.scene = *state;
	setup.engine = test.scene->engine;
	assert_int_equal(accounting_new(&test.accounting, &setup), 0);
	assert_int_equal(spec_init(&test.spec, &params), 0);
	test.spec.running = true;
	return r;
}

static int end(void **state)
{
	accounting_cancel_waits(test.accounting);
	core_quiet(&test.scene->core.core);
	accounting_free(test.accounting);
	spec_done(&test.spec);
	return scene_end(state);
}

static void set_cost(uint64_t run_ns)
{
	scripted->costs[0] = (struct thread_cost){
		.owner = {.start_ns = 5, .tgid = (uint32_t)getpid(), .comm = "me"},
		.own = {.of = {[COST_RUN] = run_ns}},
	};
	scripted->costs_count = 1;
}

static int apply(bool running)
{
	test.spec.running = running;
	test.spec.probes = 1u << PROC_CPU;
	return accounting_apply(test.accounting, &test.spec, &test.why);
}

static void take_answer(void *arg, int error, const struct cost_answer *answer)
{
	(void)arg;
	test.answered = true;
	test.answers++;
	test.error = error;
	test.run_ns = 0;
	test.processes = 0;
	for (size_t i = 0; answer && i < answer->rows->count; i++) {
		test.run_ns += answer->rows->all[i].costs.of[COST_RUN];
		test.processes += answer->rows->all[i].processes;
	}
}

static int ask(unsigned seconds, struct cost_wait **wait)
{
	const struct cost_asking asking = {.probe = test.probe,
					   .seconds = seconds,
					   .times = test.times,
					   .by = -1,
					   .done = take_answer};

	test.answered = false;
	return accounting_read(test.accounting, &asking, wait, &test.why);
}

static void until_answered(void)
{
	scripted_core_until(&test.scene->core, scripted_is_set, &test.answered);
}

static bool is_running(void *arg)
{
	(void)arg;
	return strcmp(accounting_state(test.accounting, PROC_CPU), "running") == 0;
}

static void what_was_before_the_start_is_not_counted(void **state)
{
	struct cost_wait *wait;

	(void)state;
	assert_int_equal(ask(0, &wait), -ENOENT);
	assert_string_equal(accounting_state(test.accounting, PROC_CPU), "stopped");
	set_cost(100);
	assert_int_equal(apply(true), 0);
	assert_string_equal(accounting_state(test.accounting, PROC_CPU), "arming");
	assert_string_equal(accounting_state(test.accounting, PROC_IO), "stopped");
	scripted_core_until(&test.scene->core, is_running, NULL);
	set_cost(130);
	assert_int_equal(ask(0, &wait), 0);
	until_answered();
	assert_int_equal(test.error, 0);
	assert_int_equal(test.run_ns, 30);
	assert_int_equal(test.processes, 1);
}

static void an_end_that_is_told_is_counted(void **state)
{
	struct ended_cost ended = {.owner = {.start_ns = 9, .tgid = 1, .comm = "gone"},
				   .all = {.of = {[COST_RUN] = 7}}};
	struct cost_wait *wait;

	(void)state;
	set_cost(100);
	assert_int_equal(apply(true), 0);
	scripted_core_until(&test.scene->core, is_running, NULL);
	scripted->cost_events.ended(scripted->cost_events.arg, &ended);
	assert_int_equal(ask(0, &wait), 0);
	until_answered();
	assert_int_equal(test.run_ns, 7);
}

static bool counts_nothing(void *arg)
{
	(void)arg;
	return scripted->counting == 0;
}

static bool has_three(void *arg)
{
	(void)arg;
	return test.answers == 3;
}

static void measurements_follow_each_other_until_they_are_cancelled(void **state)
{
	struct cost_wait *wait;

	(void)state;
	set_cost(100);
	test.times = 0;
	assert_int_equal(ask(1, &wait), 0);
	scripted_core_until(&test.scene->core, has_three, NULL);
	assert_int_equal(test.error, 0);
	cost_wait_cancel(wait);
	assert_int_equal(test.error, -ECANCELED);
	assert_int_equal(test.answers, 4);
	assert_false(scripted->counts_costs);
}

static void what_our_programs_count_is_counted_while_somebody_wants_it(void **state)
{
	struct cost_wait *wait;

	(void)state;
	set_cost(100);
	assert_int_equal(apply(true), 0);
	assert_int_equal(scripted->counting, 1u << COUNTER_PMU);
	test.probe = PROC_SOFTIRQ;
	assert_int_equal(ask(1, &wait), 0);
	assert_int_equal(scripted->counting, 1u << COUNTER_PMU | 1u << COUNTER_SOFTIRQ);
	until_answered();
	assert_int_equal(scripted->counting, 1u << COUNTER_PMU);
	test.spec.probes = 1u << PROC_PAGECACHE | 1u << PROC_SOFTIRQ;
	assert_int_equal(accounting_apply(test.accounting, &test.spec, &test.why), 0);
	assert_int_equal(scripted->counting, 1u << COUNTER_SOFTIRQ | 1u << COUNTER_CACHE);
	test.spec.probes = 1u << PROC_PAGECACHE;
	assert_int_equal(accounting_apply(test.accounting, &test.spec, &test.why), 0);
	assert_int_equal(scripted->counting, 1u << COUNTER_CACHE);
	assert_int_equal(apply(false), 0);
	scripted_core_until(&test.scene->core, counts_nothing, NULL);
}

static void a_measurement_runs_while_it_is_stopped_and_ends_all(void **state)
{
	struct cost_wait *wait;

	(void)state;
	set_cost(100);
	assert_int_equal(ask(1, &wait), 0);
	assert_true(scripted->counts_costs);
	until_answered();
	assert_int_equal(test.error, 0);
	assert_int_equal(test.processes, 0); /* it has cost nothing since */
	assert_false(scripted->counts_costs);
}

static void a_measurement_that_is_given_up_ends_all(void **state)
{
	struct cost_wait *wait;

	(void)state;
	set_cost(100);
	assert_int_equal(ask(600, &wait), 0);
	cost_wait_cancel(wait);
	assert_true(test.answered);
	assert_int_equal(test.error, -ECANCELED);
}

static void who_waits_when_it_is_stopped_is_told(void **state)
{
	struct cost_wait *wait;

	(void)state;
	set_cost(100);
	assert_int_equal(apply(true), 0);
	assert_int_equal(ask(0, &wait), 0);
	assert_int_equal(apply(false), 0);
	until_answered();
	assert_int_equal(test.error, -ENOENT);
	assert_string_equal(accounting_state(test.accounting, PROC_CPU), "stopped");
}

static void too_many_answers_at_once_are_refused(void **state)
{
	struct cost_wait *wait;

	(void)state;
	set_cost(1);
	for (int i = 0; i < COST_WAITS_MAX; i++)
		assert_int_equal(ask(600, &wait), 0);
	assert_int_equal(ask(600, &wait), -EBUSY);
	assert_true(*test.why.text);
}

static void a_start_that_fails_changes_nothing(void **state)
{
	(void)state;
	scripted_errors[SCRIPTED_COSTS] = -EPERM;
	assert_int_equal(apply(true), -EPERM);
	scripted_errors[SCRIPTED_COSTS] = 0;
	assert_string_equal(test.why.text, "scripted");
	assert_null(accounting_spec(test.accounting));
	assert_int_equal(apply(true), 0);
	assert_non_null(accounting_spec(test.accounting));
}

#define ACCOUNTING_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ACCOUNTING_TEST(what_was_before_the_start_is_not_counted),
		ACCOUNTING_TEST(an_end_that_is_told_is_counted),
		ACCOUNTING_TEST(measurements_follow_each_other_until_they_are_cancelled),
		ACCOUNTING_TEST(what_our_programs_count_is_counted_while_somebody_wants_it),
		ACCOUNTING_TEST(a_measurement_runs_while_it_is_stopped_and_ends_all),
		ACCOUNTING_TEST(a_measurement_that_is_given_up_ends_all),
		ACCOUNTING_TEST(who_waits_when_it_is_stopped_is_told),
		ACCOUNTING_TEST(too_many_answers_at_once_are_refused),
		ACCOUNTING_TEST(a_start_that_fails_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
