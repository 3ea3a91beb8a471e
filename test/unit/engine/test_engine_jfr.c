// SPDX-License-Identifier: GPL-2.0-or-later
/* Java VMs that record their own stacks: which, for whom, and which windows are theirs. */
#include "unit/engine/engine_vm.h"

static const struct java_wish by_jfr = {
	.source = JAVA_JFR, .jfr_fits = true, .interval_ns = VM_INTERVAL_NS};
static const struct java_wish automatic = {
	.source = JAVA_AUTO, .jfr_fits = true, .interval_ns = VM_INTERVAL_NS};

static struct jfr_stats recordings(const struct scene *scene)
{
	struct jfr_stats stats;

	engine_jfr_stats(scene->engine, &stats);
	return stats;
}

/* The VM's file: its window that ended last has one stack, of so many periods. */
static void tell(uint64_t periods, uint64_t lost_samples)
{
	struct jfr_vm *vm = TAKE_PTR(vm_test.read);
	struct jfrfile *files[PROBE_COUNT] = {NULL};
	char text[256];

	assert_non_null(vm);
	const struct jfr *jfr = jfr_of(vm);
	int len = snprintf(text, sizeof(text),
			   "stackprobe-jfr\t1\toncpu\t%llu\t%llu\t%llu\t%llu\t0\t0\t0\t0\n"
			   "m\ta.Main\trun\t()V\n"
			   "s\t%llu\t1\twhole\tmain\tj0:1\n",
			   (unsigned long long)vm->sequence, (unsigned long long)jfr->from_us,
			   (unsigned long long)jfr->to_us, (unsigned long long)lost_samples,
			   (unsigned long long)(periods * scripted->period_ns));
	assert_int_equal(jfrfile_parse(&files[PROBE_ONCPU], text, (size_t)len, "oncpu"), 0);
	jfr_was_read(vm, 0, files);
	jfrfile_free(files[PROBE_ONCPU]); /* NULL: it was taken */
}

/* The process's VM records for its subscriber; the next window is its own. */
static struct subscriber *record(struct scene *scene, const struct java_wish *wish, int error)
{
	struct subscriber *subscriber = vm_subscribe(scene, error);
	bool drained = false;

	engine_set_java(scene->engine, subscriber, wish);
	vm_run(scene);
	assert_int_equal(vm_asked(), ATTACH_JFR_START);
	vm_answer(ATTACH_DONE);
	engine_drain(scene->engine, scripted_set, &drained);
	vm_until_asked(scene, ATTACH_JFR_DUMP);
	vm_answer(ATTACH_DONE);
	scripted_core_until(&scene->core, scripted_is_set, &drained);
	return subscriber;
}

/* Ends a window with these samples of the kernel's; the VM recorded so many periods, 0: it fails.
 */
static void end_window(struct scene *scene, uint64_t samples, uint64_t periods)
{
	bool drained = false;

	scene_sample(&scene->process, PROBE_ONCPU, samples);
	engine_drain(scene->engine, scripted_set, &drained);
	vm_until_asked(scene, ATTACH_JFR_DUMP);
	vm_answer(periods ? ATTACH_DONE : ATTACH_SILENT);
	if (periods)
		tell(periods, 0);
	scripted_core_until(&scene->core, scripted_is_set, &drained);
}

/* ---- which ---- */

static void a_vm_records_for_the_feature(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = vm_subscribe(scene, 0);

	engine_set_java(scene->engine, subscriber, &by_jfr);
	vm_assert_state(scene, JAVA_NATIVE, "JFR: starting", "none");
	vm_run(scene);
	assert_int_equal(vm_asked(), ATTACH_JFR_START);
	assert_string_equal(vm_test.asked->order.recorded, "oncpu");
	assert_int_equal(vm_test.asked->order.period_ms, scripted->period_ns / NS_PER_MS);
	assert_int_equal(recordings(scene).starting, 1);
	vm_answer(ATTACH_DONE);
	vm_assert_state(scene, JAVA_NATIVE, "JFR: starting", "none"); /* from the next window on */
	vm_until_asked(scene, ATTACH_JFR_DUMP);			      /* which begins soon */
	vm_answer(ATTACH_DONE);
	vm_assert_state(scene, JAVA_JFR, "asked for", "none");
	assert_int_equal(recordings(scene).recording, 1);
}

static void nobody_records_without_the_feature(void **state)
{
	static const struct java_wish unfit = {.source = JAVA_JFR, .interval_ns = VM_INTERVAL_NS};
	struct scene *scene = *state;
	struct subscriber *subscriber = vm_subscribe(scene, 0);

	engine_set_java(scene->engine, NULL, &by_jfr);
	vm_run(scene);
	assert_int_equal(vm_asked(), -1);
	engine_set_java(scene->engine, subscriber, &unfit); /* its stacks wouldn't do */
	vm_run(scene);
	assert_int_equal(vm_asked(), -1);
	vm_test.without_jfr = true;
	engine_set_java(scene->engine, subscriber, &by_jfr);
	vm_run(scene);
	assert_int_equal(vm_asked(), -1);
}

static void by_itself_it_is_for_vms_that_cannot_be_read(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = vm_subscribe(scene, 0);

	engine_set_java(scene->engine, subscriber, &automatic);
	vm_run(scene);
	assert_int_equal(vm_asked(), -1);
	vm_assert_state(scene, JAVA_NATIVE, "read without an agent", "none");
}

static void one_that_does_not_record_is_asked_for_an_agent(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = vm_subscribe(scene, -ENOTSUP);

	engine_set_java(scene->engine, subscriber, &automatic);
	vm_run(scene);
	assert_int_equal(vm_asked(), ATTACH_JFR_START);
	vm_answer(ATTACH_REFUSED);
	vm_run(scene);
	assert_int_equal(vm_asked(), ATTACH_START);
	vm_answer(ATTACH_DONE);
	vm_assert_state(scene, JAVA_AGENT, "its tables can't be read", "attached");
}

static void one_that_was_asked_to_record_and_fails_says_why(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = vm_subscribe(scene, 0);

	engine_set_java(scene->engine, subscriber, &by_jfr);
	vm_run(scene);
	vm_answer(ATTACH_DISABLED);
	vm_assert_state(scene, JAVA_NATIVE, "JFR: disabled", "none");
	assert_int_equal(recordings(scene).failed, 1);
}

/* ---- whose windows ---- */

static void the_feature_gets_what_its_vm_recorded(void **state)
{
	struct scene *scene = *state;
	struct subscriber *feature = record(scene, &automatic, -ENOTSUP);

	vm_assert_state(scene, JAVA_JFR, "its tables can't be read", "none");
	end_window(scene, 3, 100);
	assert_int_equal(scene_weight(feature, PROBE_ONCPU), 100);
	assert_int_equal(subscriber_profile(feature, PROBE_ONCPU)->jfr_count, 1);
	assert_int_equal(recordings(scene).windows, 1);
}

static void others_get_the_kernels_stacks(void **state)
{
	struct scene *scene = *state;
	struct subscriber *feature = record(scene, &by_jfr, 0);
	struct subscriber *other = scene_subscribe(scene, &scene->process, ON(ONCPU));

	vm_until_asked(scene, ATTACH_JFR_DUMP); /* the newcomer's window begins */
	vm_answer(ATTACH_DONE);
	tell(5, 0);
	scene_until_windows(scene, 2);
	end_window(scene, 3, 7);
	assert_int_equal(scene_weight(feature, PROBE_ONCPU), 12);
	assert_int_equal(scene_weight(other, PROBE_ONCPU), 3);
	assert_int_equal(subscriber_profile(other, PROBE_ONCPU)->jfr_count, 0);
}

static void the_kernels_stacks_stand_in_for_a_silent_vm(void **state)
{
	struct scene *scene = *state;
	struct subscriber *feature = record(scene, &by_jfr, 0);

	end_window(scene, 3, 0);
	assert_int_equal(scene_weight(feature, PROBE_ONCPU), 3);
	assert_int_equal(recordings(scene).windows, 0);
	assert_int_equal(recordings(scene).fell_back, 1);
	assert_int_equal(recordings(scene).fell_back_by[JFR_SILENT], 1);
}

static void what_a_vm_lost_is_counted(void **state)
{
	struct scene *scene = *state;
	bool drained = false;

	record(scene, &by_jfr, 0);
	engine_drain(scene->engine, scripted_set, &drained);
	vm_until_asked(scene, ATTACH_JFR_DUMP);
	vm_answer(ATTACH_DONE);
	tell(5, 11);
	scripted_core_until(&scene->core, scripted_is_set, &drained);
	assert_int_equal(recordings(scene).lost_samples, 11);
}

static void what_came_for_one_that_left_is_dropped(void **state)
{
	struct scene *scene = *state;
	struct subscriber *feature = record(scene, &by_jfr, 0);
	struct subscriber *other = scene_subscribe(scene, &scene->process, ON(ONCPU));
	bool drained = false;

	vm_until_asked(scene, ATTACH_JFR_DUMP);
	vm_answer(ATTACH_DONE);
	tell(5, 0);
	scene_until_windows(scene, 2);
	scene_sample(&scene->process, PROBE_ONCPU, 3);
	engine_drain(scene->engine, scripted_set, &drained);
	vm_until_asked(scene, ATTACH_JFR_DUMP);
	vm_answer(ATTACH_DONE);
	tell(7, 0);
	engine_unsubscribe(scene->engine, feature);
	vm_until_asked(scene, ATTACH_JFR_STOP);
	scripted_core_until(&scene->core, scripted_is_set, &drained);
	assert_int_equal(scene_weight(other, PROBE_ONCPU), 3);
}

/* ---- changes ---- */

static void another_period_is_recorded_from_then_on(void **state)
{
	struct scene *scene = *state;
	struct subscriber *feature = record(scene, &by_jfr, 0);

	assert_int_equal(engine_set_period(scene->engine, 20 * NS_PER_MS, &scene->why), 0);
	engine_set_java(scene->engine, feature, &by_jfr);
	assert_int_equal(vm_asked(), ATTACH_JFR_START);
	assert_int_equal(vm_test.asked->order.period_ms, 20);
}

static void a_vm_is_told_to_stop_when_the_feature_has_gone(void **state)
{
	struct scene *scene = *state;
	struct subscriber *feature = record(scene, &by_jfr, 0);

	scene_subscribe(scene, &scene->other, ON(ONCPU));
	engine_unsubscribe(scene->engine, feature);
	assert_int_equal(vm_asked(), ATTACH_JFR_STOP);
	assert_int_equal(recordings(scene).recording, 0);
}

static void a_vm_is_told_to_stop_when_stacks_are_wanted_natively(void **state)
{
	static const struct java_wish natively = {.source = JAVA_NATIVE};
	struct scene *scene = *state;
	struct subscriber *feature = record(scene, &by_jfr, 0);

	engine_set_java(scene->engine, feature, &natively);
	assert_int_equal(vm_asked(), ATTACH_JFR_STOP);
	vm_answer(ATTACH_DONE);
	vm_assert_state(scene, JAVA_NATIVE, "asked for", "none");
}

/* Both use the same folder of the VM's. */
static void an_agent_waits_until_the_recording_has_gone(void **state)
{
	static const struct java_wish by_agent = {.source = JAVA_AGENT,
						  .interval_ns = VM_INTERVAL_NS};
	struct scene *scene = *state;
	struct subscriber *feature = record(scene, &by_jfr, 0);

	engine_set_java(scene->engine, feature, &by_agent);
	assert_int_equal(vm_asked(), ATTACH_JFR_STOP);
	vm_run(scene);
	assert_int_equal(vm_asked(), ATTACH_JFR_STOP);
	vm_answer(ATTACH_DONE);
	vm_run(scene);
	assert_int_equal(vm_asked(), ATTACH_START);
	vm_answer(ATTACH_DONE);

	engine_set_java(scene->engine, feature, &by_jfr); /* and the other way round */
	assert_int_equal(vm_asked(), ATTACH_STOP);
	vm_run(scene);
	assert_int_equal(vm_asked(), ATTACH_STOP);
	vm_answer(ATTACH_DONE);
	vm_run(scene);
	assert_int_equal(vm_asked(), ATTACH_JFR_START);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		VM_TEST(a_vm_records_for_the_feature),
		VM_TEST(nobody_records_without_the_feature),
		VM_TEST(by_itself_it_is_for_vms_that_cannot_be_read),
		VM_TEST(one_that_does_not_record_is_asked_for_an_agent),
		VM_TEST(one_that_was_asked_to_record_and_fails_says_why),
		VM_TEST(the_feature_gets_what_its_vm_recorded),
		VM_TEST(others_get_the_kernels_stacks),
		VM_TEST(the_kernels_stacks_stand_in_for_a_silent_vm),
		VM_TEST(what_a_vm_lost_is_counted),
		VM_TEST(what_came_for_one_that_left_is_dropped),
		VM_TEST(another_period_is_recorded_from_then_on),
		VM_TEST(a_vm_is_told_to_stop_when_the_feature_has_gone),
		VM_TEST(a_vm_is_told_to_stop_when_stacks_are_wanted_natively),
		VM_TEST(an_agent_waits_until_the_recording_has_gone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
