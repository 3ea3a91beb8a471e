// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * When a target's mappings are read (again), and for which there is room. Linked with
 * __wrap_shares_left(): the users' room is the test's.
 */
#include "unit/target/target_life.h"

#include <sys/mman.h>

#include "loop/shares.h"

#define UNMAPPED    0x10
#define NATIVE(at)  ((uint64_t)FRAME_NATIVE << FRAME_KIND_SHIFT | (at))
#define RETURN(at)  ((uint64_t)FRAME_NATIVE_RETURN << FRAME_KIND_SHIFT | (at))
#define PYTHON(at)  ((uint64_t)FRAME_PYTHON << FRAME_KIND_SHIFT | (at))
#define MADE_BYTES  4096
#define EAGER_BURST 32 /* of target.c */

static struct process other; /* of the same name */
static bool is_full;	     /* no user has room */

uint64_t __real_shares_left(const struct shares *shares, uint64_t whose);
uint64_t __wrap_shares_left(const struct shares *shares, uint64_t whose);

uint64_t __wrap_shares_left(const struct shares *shares, uint64_t whose)
{
	return is_full ? 0 : __real_shares_left(shares, whose);
}

static int begin(void **state)
{
	is_full = false;
	return scene_begin(state);
}

static int end(void **state)
{
	process_end(&other);
	return scene_end(state);
}

/* An address that all processes of this program have. */
static uint64_t known(void)
{
	return (uintptr_t)known;
}

static uint32_t pages(void)
{
	return address_space_exec_pages(scene_current(scene.process.pid)->space);
}

/* Follows the process until its mappings were read; later stacks are newer than that. */
static void follow_it(void)
{
	scene_follow_pid(scene.process.pid);
	scene_until_sampled(&scene.process);
	assert_int_equal(scene_readings(scene.process.pid), 1);
	scene_skip(NS_PER_S);
}

/* Has a stack of these words taken now. */
static void take(const uint64_t *words, uint16_t count, bool urgent)
{
	struct stack stack = life_stack_of(&scene.process, loop_now_ns(), pages());

	stack.words_count = count;
	targets_on_stack(scene.targets, &stack, words, urgent);
}

static unsigned readings_of_it(void)
{
	scene_settle();
	return scene_readings(scene.process.pid);
}

/* ---- stacks ---- */

static void a_stack_of_known_code_needs_no_reading(void **state)
{
	(void)state;
	follow_it();
	take((uint64_t[]){NATIVE(known())}, 1, false);
	assert_int_equal(readings_of_it(), 1);
}

static void an_unknown_address_has_the_mappings_read_again(void **state)
{
	(void)state;
	follow_it();
	unsigned told = scene.maps_told;

	take((uint64_t[]){NATIVE(known()), NATIVE(UNMAPPED)}, 2, false);
	assert_int_equal(readings_of_it(), 2);
	assert_true(scene.maps_told > told);
}

static void a_return_address_outside_says_nothing(void **state)
{
	(void)state;
	follow_it();
	take((uint64_t[]){NATIVE(known()), RETURN(UNMAPPED)}, 2, false);
	assert_int_equal(readings_of_it(), 1);
}

static void behind_a_python_frame_nothing_is_native(void **state)
{
	(void)state;
	follow_it();
	take((uint64_t[]){NATIVE(known()), PYTHON(1), NATIVE(UNMAPPED)}, 3, false);
	assert_int_equal(readings_of_it(), 1);
}

static void a_stack_from_before_the_reading_needs_no_other(void **state)
{
	(void)state;
	follow_it();
	life_stack(&scene.process, UNMAPPED, 1, pages() + 1);
	assert_int_equal(readings_of_it(), 1);
}

static void another_number_of_executable_pages_has_them_read_once(void **state)
{
	(void)state;
	follow_it();
	for (int i = 0; i < 3; i++) {
		life_stack(&scene.process, known(), loop_now_ns(), pages() + 1);
		assert_int_equal(readings_of_it(), 2);
		scene_skip(NS_PER_S);
	}
}

static void an_urgent_stack_does_not_wait(void **state)
{
	(void)state;
	follow_it();
	for (unsigned i = 0; i < 3; i++) {
		take((uint64_t[]){NATIVE(UNMAPPED)}, 1, true);
		assert_int_equal(readings_of_it(), 2 + i);
	}
}

static bool are_three(void *arg)
{
	(void)arg;
	return scene_readings(scene.process.pid) == 3;
}

static void stacks_during_a_reading_have_one_more_together(void **state)
{
	(void)state;
	follow_it();
	scene_hold(scene.process.pid);
	take((uint64_t[]){NATIVE(UNMAPPED)}, 1, false);
	scene_await_held();
	scene_skip(NS_PER_MS);
	for (int i = 0; i < 50; i++)
		take((uint64_t[]){NATIVE(UNMAPPED)}, 1, i % 2);
	scene_release();
	scene_until(are_three, NULL);
	scene_skip(NS_PER_S);
	assert_int_equal(readings_of_it(), 3);
}

static void a_reading_that_began_after_the_stack_is_enough(void **state)
{
	uint64_t word = NATIVE(UNMAPPED);

	(void)state;
	follow_it();
	struct stack stack = life_stack_of(&scene.process, loop_now_ns(), pages());

	scene_skip(NS_PER_MS);
	scene_hold(scene.process.pid);
	take(&word, 1, false);
	scene_await_held();
	targets_on_stack(scene.targets, &stack, &word, false);
	scene_release();
	assert_int_equal(readings_of_it(), 2);
	scene_skip(NS_PER_S);
	assert_int_equal(readings_of_it(), 2);
}

static void stacks_of_who_ended_or_is_unknown_have_nothing_read(void **state)
{
	uint64_t word = NATIVE(UNMAPPED);

	(void)state;
	follow_it();
	struct stack stack = life_stack_of(&scene.process, loop_now_ns(), 1);

	life_exit(&scene.process);
	scene_read();
	targets_on_stack(scene.targets, &stack, &word, true);
	stack.target_id++;
	targets_on_stack(scene.targets, &stack, &word, true);
	assert_int_equal(readings_of_it(), 1);
}

/* ---- who is read when ---- */

static void anybody_may_have_them_read(void **state)
{
	(void)state;
	follow_it();
	targets_look_at(scene.targets, scene_current(scene.process.pid));
	assert_int_equal(readings_of_it(), 2);
}

static void a_child_has_its_parents_mappings(void **state)
{
	uint64_t word = NATIVE(known());

	(void)state;
	follow_it();
	process_begin(&other, scene.comm);
	life_fork(&scene.process, &other, scene.comm);
	scene_read();
	struct stack stack = life_stack_of(&other, loop_now_ns(), pages());

	targets_on_stack(scene.targets, &stack, &word, false);
	scene_settle();
	assert_int_equal(scene_readings(other.pid), 0);
	word = NATIVE(UNMAPPED);
	targets_on_stack(scene.targets, &stack, &word, false);
	scene_settle();
	assert_int_equal(scene_readings(other.pid), 1);
}

/* Processes that don't exist. */
static struct process made_up(int number)
{
	return (struct process){4194304 + number, 1};
}

static void of_many_new_programs_some_are_read_with_their_first_stack(void **state)
{
	enum { COUNT = EAGER_BURST * 3 / 2 };
	struct process left = {0}; /* one of those that are not read */
	unsigned read = 0;

	scene_end(state);
	scene_begin_with(64, 64);
	scene_follow_name(scene.comm, "");
	scene_settle();
	scene_skip(NS_PER_S);
	scene_freeze();
	for (int i = 0; i < COUNT; i++) {
		struct process process = made_up(i);

		life_exec(&process, scene.comm);
	}
	scene_read();
	scene_thaw();
	scene_settle();
	for (int i = 0; i < COUNT; i++) {
		if (scene_readings(made_up(i).pid))
			read++;
		else
			left = made_up(i);
	}
	/* one more each 10 ms that this takes */
	assert_in_range(read, EAGER_BURST, COUNT - 1);

	life_stack(&left, UNMAPPED, loop_now_ns(), 1);
	scene_settle();
	assert_int_equal(scene_readings(left.pid), 1);
}

/* ---- room ---- */

static void mappings_without_room_are_left_out_and_counted(void **state)
{
	struct target_value value = {0};

	(void)state;
	is_full = true;
	scene_follow_pid(scene.process.pid);
	scene_until_sampled(&scene.process);
	tracer_target_get(scripted, scene.process.pid, &value);
	assert_int_equal(value.spans_count, 0);
	assert_true(scene_stats().mappings_left_out > 0);
	is_full = false;
	scene_skip(NS_PER_S);
	life_stack(&scene.process, known(), loop_now_ns(), 0);
	scene_settle();
	tracer_target_get(scripted, scene.process.pid, &value);
	assert_true(value.spans_count > 0);
}

static void a_child_without_room_is_read_by_itself(void **state)
{
	struct target_value value = {0};

	(void)state;
	follow_it();
	is_full = true;
	process_begin(&other, scene.comm);
	life_fork(&scene.process, &other, scene.comm);
	scene_read();
	tracer_target_get(scripted, other.pid, &value);
	assert_int_equal(value.spans_number, 0);
	is_full = false;
	scene_until_read(&other);
	assert_int_equal(scene_readings(other.pid), 1);
}

static void room_comes_back_with_the_sweep(void **state)
{
	(void)state;
	follow_it();
	life_exit(&scene.process);
	scene_read();
	targets_sweep(scene.targets, UINT64_MAX);
	process_begin(&other, scene.comm);
	scene_follow_pid(other.pid);
	scene_until_sampled(&other);
	assert_int_equal(scene_stats().mappings_left_out, 0);
}

/* ---- kinds of mappings ---- */

static void code_made_at_run_time_is_known(void **state)
{
	struct code code;

	(void)state;
	void *made = mmap(NULL, MADE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(made, MAP_FAILED);
	process_begin(&other, scene.comm);
	munmap(made, MADE_BYTES);
	scene_follow_pid(other.pid);
	scene_until_sampled(&other);
	const struct address_space *space = scene_current(other.pid)->space;

	assert_int_equal(address_space_find(space, (uintptr_t)made, loop_now_ns(), &code), 0);
	assert_int_equal(address_space_find(space, known(), loop_now_ns(), &code), 0);
	assert_int_equal(code.place, CODE_FILE);
	assert_ptr_equal(code.file, address_space_program(space));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_stack_of_known_code_needs_no_reading),
		TEST(an_unknown_address_has_the_mappings_read_again),
		TEST(a_return_address_outside_says_nothing),
		TEST(behind_a_python_frame_nothing_is_native),
		TEST(a_stack_from_before_the_reading_needs_no_other),
		TEST(another_number_of_executable_pages_has_them_read_once),
		TEST(an_urgent_stack_does_not_wait),
		TEST(stacks_during_a_reading_have_one_more_together),
		TEST(a_reading_that_began_after_the_stack_is_enough),
		TEST(stacks_of_who_ended_or_is_unknown_have_nothing_read),
		TEST(anybody_may_have_them_read),
		TEST(a_child_has_its_parents_mappings),
		TEST(of_many_new_programs_some_are_read_with_their_first_stack),
		TEST(mappings_without_room_are_left_out_and_counted),
		TEST(a_child_without_room_is_read_by_itself),
		TEST(room_comes_back_with_the_sweep),
		TEST(code_made_at_run_time_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
