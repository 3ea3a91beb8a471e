// SPDX-License-Identifier: GPL-2.0-or-later
/* When a target is asked about its CPython or its Java VM, and what becomes of the answers. */
#include "unit/target/runtime_targets.h"

#include <sys/mman.h>

#define TRIES_MAX 12 /* of loop/retry.c */

static struct process other; /* of the same name */
static bool is_java;	     /* what these tests run with */

static int begin_python(void **state)
{
	(void)state;
	is_java = false;
	runtime_begin(true, false);
	return 0;
}

static int begin_java(void **state)
{
	(void)state;
	is_java = true;
	runtime_begin(false, true);
	return 0;
}

static int end(void **state)
{
	(void)state;
	process_end(&other);
	runtime_end();
	return 0;
}

static struct target_value value_of(const struct process *process)
{
	struct target_value value = {0};

	tracer_target_get(scripted, process->pid, &value);
	return value;
}

/* Returns whether the kernel's side walks its Python or Java frames. */
static bool is_walked(const struct process *process)
{
	struct target_value value = value_of(process);

	return is_java ? value.hotspot != 0 : value.python != 0;
}

static bool is_asked_and_has_tables(void *arg)
{
	const struct targets_stats stats = scene_stats();

	(void)arg;
	return questions > 0 && !stats.tables.pending;
}

/* Follows the process until it was asked, and only the answer is missing. */
static void follow_it(void)
{
	scene_follow_pid(scene.process.pid);
	scene_until(is_asked_and_has_tables, NULL);
	scene_settle(); /* that is told, too */
	assert_int_equal(questions, 1);
}

/* A stack that needs no mappings. */
static void take_stack(const struct process *process)
{
	life_stack(process, (uintptr_t)take_stack, 1, 0);
}

/* ---- both ---- */

static void a_runtime_that_is_found_is_asked_about_before_it_is_sampled(void **state)
{
	(void)state;
	follow_it();
	assert_int_equal(asked[0].question.pid, scene.process.pid);
	assert_int_equal(asked[0].answer->bias, BIAS);
	assert_true(targets_are_arming(scene.targets));
	assert_int_equal(value_of(&scene.process).probes, 0);
	assert_int_equal(value_of(&scene.process).asked, 1); /* its stacks are urgent */
	answer(0);
	assert_int_equal(value_of(&scene.process).probes, ONCPU);
	assert_int_equal(value_of(&scene.process).asked, 0);
	assert_false(targets_are_arming(scene.targets));
	assert_true(is_java || is_walked(&scene.process));
	take_stack(&scene.process);
	assert_int_equal(questions, 1);
}

static void a_process_is_sampled_when_its_walker_is_there(void **state)
{
	(void)state;
	follow_it();
	assert_int_equal(scripted->runtimes, is_java ? WALKS_JAVA : WALKS_PYTHON);
	scripted->awaits_walkers = true;
	answer(0);
	scene_settle();
	assert_true(is_walked(&scene.process));
	assert_int_equal(value_of(&scene.process).probes, 0);
	targets_meet_walkers(scene.targets); /* another one */
	assert_int_equal(value_of(&scene.process).probes, 0);
	scripted->awaits_walkers = false;
	targets_meet_walkers(scene.targets);
	assert_int_equal(value_of(&scene.process).probes, ONCPU);
	assert_false(targets_are_arming(scene.targets));
}

static void a_walker_that_does_not_come_is_not_waited_for(void **state)
{
	(void)state;
	follow_it();
	scripted->awaits_walkers = true;
	answer(0);
	scene_settle();
	assert_int_equal(value_of(&scene.process).probes, 0);
	scene_skip(3 * NS_PER_S);
	scene_settle();
	assert_int_equal(value_of(&scene.process).probes, ONCPU);
}

static void a_process_that_cannot_answer_yet_is_asked_again_with_a_stack(void **state)
{
	(void)state;
	follow_it();
	scene_skip(NS_PER_S);
	scene_freeze();
	answer(-EAGAIN); /* after a long time: the next question follows at once */
	assert_int_equal(questions, 2);
	assert_int_equal(value_of(&scene.process).probes, 0);
	answer(-EAGAIN);
	assert_int_equal(value_of(&scene.process).probes, ONCPU); /* it isn't waited for */
	assert_int_equal(value_of(&scene.process).asked, 1);
	take_stack(&scene.process); /* too soon */
	assert_int_equal(questions, 2);
	scene_thaw();
	scene_skip(NS_PER_S);
	take_stack(&scene.process);
	assert_int_equal(questions, 3);
	take_stack(&scene.process); /* while it is being asked */
	assert_int_equal(questions, 3);
	answer(0);
	assert_int_equal(value_of(&scene.process).asked, 0);
}

static void a_version_that_is_not_supported_is_asked_once(void **state)
{
	(void)state;
	follow_it();
	answer(-ENOTSUP);
	assert_int_equal(value_of(&scene.process).probes, ONCPU);
	assert_int_equal(value_of(&scene.process).asked, 0);
	scene_skip(20 * NS_PER_S);
	take_stack(&scene.process);
	targets_look_at(scene.targets, scene_current(scene.process.pid));
	scene_settle();
	assert_int_equal(questions, 1);
	assert_false(is_walked(&scene.process));
}

static void a_process_whose_memory_hangs_is_left_alone(void **state)
{
	(void)state;
	follow_it();
	scene_settle();
	unsigned readings_before = scene_readings(scene.process.pid);

	answer(-ETIMEDOUT);
	assert_int_equal(value_of(&scene.process).asked, 0);
	scene_skip(20 * NS_PER_S);
	take_stack(&scene.process);
	targets_look_at(scene.targets, scene_current(scene.process.pid));
	scene_settle();
	assert_int_equal(questions, 1);
	assert_int_equal(scene_readings(scene.process.pid), readings_before);
}

static void after_many_errors_nobody_asks_any_more(void **state)
{
	(void)state;
	follow_it();
	for (unsigned i = 1; i < TRIES_MAX; i++) {
		assert_int_equal(value_of(&scene.process).asked, 1);
		answer(-EIO);
		scene_skip(20 * NS_PER_S);
		take_stack(&scene.process);
		assert_int_equal(questions, i + 1);
	}
	answer(-EIO);
	assert_int_equal(value_of(&scene.process).asked, 0);
	scene_skip(20 * NS_PER_S);
	take_stack(&scene.process);
	assert_int_equal(questions, TRIES_MAX);
}

static void a_question_that_found_no_memory_is_asked_with_a_stack(void **state)
{
	(void)state;
	ask_error = -ENOMEM;
	scene_follow_pid(scene.process.pid);
	scene_until_sampled(&scene.process);
	assert_int_equal(questions, 0);
	assert_int_equal(value_of(&scene.process).asked, 1);
	ask_error = 0;
	take_stack(&scene.process);
	assert_int_equal(questions, 1);
}

static void a_child_knows_what_its_parent_knows(void **state)
{
	(void)state;
	follow_it();
	answer(0);
	process_begin(&other, scene.comm);
	life_fork(&scene.process, &other, scene.comm);
	scene_read();
	assert_int_equal(is_walked(&other), is_walked(&scene.process));
	assert_int_equal(value_of(&other).asked, 0);
	take_stack(&other);
	assert_int_equal(questions, 1);
}

static void a_child_forked_before_the_answer_is_asked_itself(void **state)
{
	(void)state;
	follow_it();
	process_begin(&other, scene.comm);
	life_fork(&scene.process, &other, scene.comm);
	scene_read();
	assert_int_equal(value_of(&other).asked, 1);
	take_stack(&other);
	assert_int_equal(questions, 2);
	assert_int_equal(asked[1].question.pid, other.pid);
}

static void a_new_program_is_asked_anew(void **state)
{
	(void)state;
	follow_it();
	answer(0);
	life_exec(&scene.process, scene.comm);
	scene_read();
	assert_false(is_walked(&scene.process));
	until_asked(2);
}

static void an_answer_for_who_has_ended_is_dropped(void **state)
{
	(void)state;
	follow_it();
	life_exit(&scene.process);
	scene_read();
	answer(0);
	assert_int_equal(scene_id(scene.process.pid), 0);
}

static void an_answer_for_who_is_forgotten_is_dropped(void **state)
{
	(void)state;
	follow_it();
	scene_settle();
	life_exit(&scene.process);
	scene_read();
	targets_sweep(scene.targets, UINT64_MAX);
	answer(0);
	assert_int_equal(scene_stats().alive, 0);
}

static void another_runtime_in_that_place_is_asked_about_at_once(void **state)
{
	(void)state;
	follow_it();
	answer(-ENOTSUP);
	made_python.version++;
	made_java.symbols[0]++;
	targets_look_at(scene.targets, scene_current(scene.process.pid));
	until_asked(2);
	answer(0);
	assert_int_equal(value_of(&scene.process).asked, 0);
}

static void whoever_leaves_runtimes_alone_asks_nobody(void **state)
{
	(void)state;
	targets_leave_python(scene.targets);
	targets_leave_java(scene.targets);
	scene_follow_pid(scene.process.pid);
	scene_until_sampled(&scene.process);
	take_stack(&scene.process);
	assert_int_equal(questions, 0);
	assert_int_equal(value_of(&scene.process).asked, 0);
}

/* ---- CPython ---- */

static void a_script_whose_path_may_change_is_asked_for_again(void **state)
{
	(void)state;
	follow_it();
	((struct interpreter *)next_answer())->script_may_change = true;
	answer(0);
	assert_true(is_walked(&scene.process));
	assert_int_equal(value_of(&scene.process).asked, 1);
	scene_skip(NS_PER_S);
	take_stack(&scene.process);
	assert_int_equal(questions, 2);
	answer(0);
	assert_int_equal(value_of(&scene.process).asked, 0);
}

/* ---- Java VMs ---- */

static void a_vm_that_has_not_begun_is_asked_again_without_a_stack(void **state)
{
	(void)state;
	follow_it();
	answer(-EAGAIN);
	scene_skip(NS_PER_S);
	until_asked(2);
	answer(-EAGAIN);
	scene_skip(NS_PER_S);
	until_asked(3);
	answer(0);
	scene_skip(20 * NS_PER_S);
	scene_settle();
	assert_int_equal(questions, 3);
}

/* A library is mapped long before its VM begins. */
static void a_vm_may_begin_after_any_number_of_questions(void **state)
{
	(void)state;
	follow_it();
	for (unsigned i = 1; i < 2 * TRIES_MAX; i++) {
		answer(-EAGAIN);
		scene_skip(20 * NS_PER_S);
		take_stack(&scene.process);
		assert_int_equal(questions, i + 1);
	}
}

static void a_vm_without_virtual_threads_yet_is_asked_again_and_keeps_what_is_known(void **state)
{
	(void)state;
	follow_it();
	((struct jvm *)next_answer())->layout.unfinished = 1;
	answer(0);
	assert_int_equal(value_of(&scene.process).asked, 0); /* that isn't urgent */
	scene_skip(NS_PER_S);
	take_stack(&scene.process);
	assert_int_equal(questions, 2);
	answer(-EIO); /* worse than what is known */
	assert_int_equal(target_jvm(scene_current(scene.process.pid))->runtime.error, 0);
	scene_skip(NS_PER_S);
	take_stack(&scene.process);
	assert_int_equal(questions, 3);
	answer(0);
	scene_skip(20 * NS_PER_S);
	take_stack(&scene.process);
	assert_int_equal(questions, 3);
}

/* Begins a process that has made code. */
static void begin_maker(void)
{
	void *made = mmap((void *)HEAP, 4096, PROT_READ | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	assert_ptr_equal(made, (void *)HEAP);
	process_begin(&other, scene.comm);
	munmap(made, 4096);
}

static void a_vms_code_cache_is_walked(void **state)
{
	(void)state;
	begin_maker();
	scene_follow_pid(other.pid);
	until_asked(1);
	assert_false(is_walked(&other));
	answer(0);
	assert_true(is_walked(&other));
}

/* ---- made code ---- */

static int begin_made(void **state)
{
	(void)state;
	runtime_begin(false, false);
	has_made = true;
	return 0;
}

/* Answers that a look which begins now has found nothing. Returns when that is. */
static uint64_t answer_look(void)
{
	uint64_t now_ns = loop_now_ns();

	((struct made_code *)next_answer())->read_ns = now_ns;
	answer(0);
	return now_ns;
}

static void made_code_is_looked_at_again_for_later_stacks(void **state)
{
	(void)state;
	begin_maker();
	scene_follow_pid(other.pid);
	until_asked(1);
	uint64_t read_ns = answer_look();
	scene_skip(NS_PER_S);
	life_stack(&other, HEAP, read_ns, 0);
	assert_int_equal(questions, 1);
	life_stack(&other, HEAP, loop_now_ns(), 0);
	assert_int_equal(questions, 2);
	answer(-EAGAIN); /* and what is known stays */
	scene_skip(NS_PER_S);
	until_asked(3);
	answer(-EBUSY);
	scene_skip(NS_PER_S);
	until_asked(4);
	answer_look();
	scene_skip(NS_PER_S);
	scene_settle();
	assert_int_equal(questions, 4);
}

#define TEST(name, begin) cmocka_unit_test_setup_teardown(name, begin, end)
#define BOTH(name)	  TEST(name, begin_python), TEST(name, begin_java)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(a_runtime_that_is_found_is_asked_about_before_it_is_sampled),
		BOTH(a_process_is_sampled_when_its_walker_is_there),
		BOTH(a_walker_that_does_not_come_is_not_waited_for),
		BOTH(a_process_that_cannot_answer_yet_is_asked_again_with_a_stack),
		BOTH(a_version_that_is_not_supported_is_asked_once),
		BOTH(a_process_whose_memory_hangs_is_left_alone),
		BOTH(after_many_errors_nobody_asks_any_more),
		BOTH(a_question_that_found_no_memory_is_asked_with_a_stack),
		BOTH(a_child_knows_what_its_parent_knows),
		BOTH(a_child_forked_before_the_answer_is_asked_itself),
		BOTH(a_new_program_is_asked_anew),
		BOTH(an_answer_for_who_has_ended_is_dropped),
		BOTH(an_answer_for_who_is_forgotten_is_dropped),
		BOTH(another_runtime_in_that_place_is_asked_about_at_once),
		BOTH(whoever_leaves_runtimes_alone_asks_nobody),
		TEST(a_script_whose_path_may_change_is_asked_for_again, begin_python),
		TEST(a_vm_that_has_not_begun_is_asked_again_without_a_stack, begin_java),
		TEST(a_vm_may_begin_after_any_number_of_questions, begin_java),
		TEST(a_vm_without_virtual_threads_yet_is_asked_again_and_keeps_what_is_known,
		     begin_java),
		TEST(a_vms_code_cache_is_walked, begin_java),
		TEST(made_code_is_looked_at_again_for_later_stacks, begin_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
