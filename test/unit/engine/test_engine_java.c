// SPDX-License-Identifier: GPL-2.0-or-later
/* Which way a Java VM's stacks are taken, who is asked for an agent, and what is told of it. */
#include "unit/engine/engine_vm.h"

#define UNREADABLE "its tables can't be read"

static const struct java_wish automatic = {.source = JAVA_AUTO, .interval_ns = VM_INTERVAL_NS};
static const struct java_wish by_agent = {.source = JAVA_AGENT, .interval_ns = VM_INTERVAL_NS};
static const struct java_wish natively = {.source = JAVA_NATIVE, .interval_ns = VM_INTERVAL_NS};

static struct agents_stats agents(const struct scene *scene)
{
	struct agents_stats stats;

	engine_agents_stats(scene->engine, &stats);
	return stats;
}

/* ---- without an agent ---- */

static void a_process_without_a_vm_is_asked_nothing(void **state)
{
	struct scene *scene = *state;

	engine_set_java(scene->engine, NULL, &by_agent);
	scene_subscribe(scene, &scene->process, ON(ONCPU));
	scene_sampled(scene, &scene->process, ON(ONCPU));
	vm_run(scene);
	assert_int_equal(vm_asked(), -1);
	vm_assert_state(scene, JAVA_NATIVE, "no Java VM is known in it", "none");
}

static void a_vm_that_can_be_read_needs_no_agent(void **state)
{
	struct scene *scene = *state;

	engine_set_java(scene->engine, NULL, &automatic);
	vm_subscribe(scene, 0);
	vm_run(scene);
	assert_int_equal(vm_asked(), -1);
	vm_assert_state(scene, JAVA_NATIVE, "read without an agent", "none");
}

static void a_vm_that_has_just_begun_is_given_time(void **state)
{
	struct scene *scene = *state;

	engine_set_java(scene->engine, NULL, &automatic);
	vm_subscribe(scene, -EAGAIN);
	vm_assert_state(scene, JAVA_NATIVE, "the VM has not begun yet", "none");
}

static void who_asked_for_native_stacks_has_them(void **state)
{
	struct scene *scene = *state;

	engine_set_java(scene->engine, NULL, &natively);
	vm_subscribe(scene, -ENOTSUP);
	vm_run(scene);
	assert_int_equal(vm_asked(), -1);
	vm_assert_state(scene, JAVA_NATIVE, "asked for", "none");
}

/* ---- with one ---- */

static void a_vm_that_cannot_be_read_is_asked_for_an_agent(void **state)
{
	struct scene *scene = *state;

	engine_set_java(scene->engine, NULL, &automatic);
	vm_subscribe(scene, -ENOTSUP);
	assert_int_equal(vm_asked(), -1); /* not before it runs */
	vm_assert_state(scene, JAVA_NATIVE, "agent: none", "none");
	vm_run(scene);
	assert_int_equal(vm_asked(), ATTACH_START);
	assert_int_equal(vm_test.asked->pid, scene->process.pid);
	vm_assert_state(scene, JAVA_NATIVE, "agent: attaching", "attaching");
	assert_int_equal(agents(scene).attaching, 1);
	vm_answer(ATTACH_DONE);
	vm_assert_state(scene, JAVA_AGENT, UNREADABLE, "attached");
	assert_int_equal(agents(scene).attached, 1);
	vm_run(scene);
	assert_int_equal(vm_asked(), -1); /* once is enough */
}

static void a_vm_that_refuses_says_why(void **state)
{
	struct scene *scene = *state;

	engine_set_java(scene->engine, NULL, &automatic);
	vm_subscribe(scene, -ENOTSUP);
	vm_run(scene);
	vm_answer(ATTACH_DISABLED);
	vm_assert_state(scene, JAVA_NATIVE, "agent: failed: disabled", "failed: disabled");
	assert_int_equal(agents(scene).failed, 1);
}

static void who_asked_for_agents_has_them_in_every_vm(void **state)
{
	struct scene *scene = *state;

	engine_set_java(scene->engine, NULL, &by_agent);
	vm_subscribe(scene, 0);
	vm_run(scene);
	assert_int_equal(vm_asked(), ATTACH_START);
	vm_answer(ATTACH_DONE);
	vm_assert_state(scene, JAVA_AGENT, "asked for", "attached");
}

static void another_wish_stops_the_agents(void **state)
{
	struct scene *scene = *state;

	engine_set_java(scene->engine, NULL, &by_agent);
	vm_subscribe(scene, 0);
	vm_run(scene);
	vm_answer(ATTACH_DONE);
	engine_set_java(scene->engine, NULL, &automatic);
	assert_int_equal(vm_asked(), ATTACH_STOP); /* it can be read */
	vm_answer(ATTACH_DONE);
	vm_assert_state(scene, JAVA_NATIVE, "read without an agent", "none");
	vm_run(scene);
	assert_int_equal(vm_asked(), -1);
}

static void native_stacks_stop_all_agents(void **state)
{
	struct scene *scene = *state;

	engine_set_java(scene->engine, NULL, &automatic);
	vm_subscribe(scene, -ENOTSUP);
	vm_run(scene);
	vm_answer(ATTACH_DONE);
	engine_set_java(scene->engine, NULL, &natively);
	assert_int_equal(vm_asked(), ATTACH_STOP);
}

static void a_vm_that_nobody_samples_loses_its_agent(void **state)
{
	struct scene *scene = *state;

	engine_set_java(scene->engine, NULL, &automatic);
	struct subscriber *subscriber = vm_subscribe(scene, -ENOTSUP);
	scene_subscribe(scene, &scene->other, ON(ONCPU));
	vm_run(scene);
	vm_answer(ATTACH_DONE);
	scripted_core_drain(&scene->core);
	assert_int_equal(vm_asked(), -1); /* it is sampled still */
	engine_unsubscribe(scene->engine, subscriber);
	scripted_core_drain(&scene->core);
	assert_int_equal(vm_asked(), ATTACH_STOP);
}

static void the_end_of_all_is_the_end_of_the_agents(void **state)
{
	struct scene *scene = *state;

	engine_set_java(scene->engine, NULL, &automatic);
	struct subscriber *subscriber = vm_subscribe(scene, -ENOTSUP);
	vm_run(scene);
	vm_answer(ATTACH_DONE);
	engine_unsubscribe(scene->engine, subscriber);
	assert_int_equal(vm_asked(), ATTACH_STOP);
	vm_answer(ATTACH_DONE);
	assert_int_equal(agents(scene).attached, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		VM_TEST(a_process_without_a_vm_is_asked_nothing),
		VM_TEST(a_vm_that_can_be_read_needs_no_agent),
		VM_TEST(a_vm_that_has_just_begun_is_given_time),
		VM_TEST(who_asked_for_native_stacks_has_them),
		VM_TEST(a_vm_that_cannot_be_read_is_asked_for_an_agent),
		VM_TEST(a_vm_that_refuses_says_why),
		VM_TEST(who_asked_for_agents_has_them_in_every_vm),
		VM_TEST(another_wish_stops_the_agents),
		VM_TEST(native_stacks_stop_all_agents),
		VM_TEST(a_vm_that_nobody_samples_loses_its_agent),
		VM_TEST(the_end_of_all_is_the_end_of_the_agents),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
