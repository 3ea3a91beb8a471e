// SPDX-License-Identifier: GPL-2.0-only
/* Code objects are made up here (--wrap): the address tells what reading it gives. */
#include "unit.h"

#include <semaphore.h>
#include <stdatomic.h>

#include "base/loop.h"
#include "code_copy.h"
#include "profile/codes.h"
#include "profile/codes_python.h"
#include "profile/interpreter.h"
#include "symbol/pycode_state.h"

#define LIMIT_NS (100 * NS_PER_MS)
#define PARENT	 100
#define CHILD	 101

/* Bits of an address. */
#define ONLY_PARENT 0x1000000000 /* the child has ended */
#define STALE	    0x2000000000
#define FAULTS	    0x3000000000
#define NO_CODE	    0x4000000000
#define HANGS	    0x5000000000
#define WHAT	    0xf000000000

int __wrap_pycode_read(struct pycode **ret, const struct python_layout *layout,
		       const struct process_memory *memory, uint64_t address, uint32_t sum);

static atomic_int reads, copied_reads;
static size_t code_bytes = 200; /* more than a struct pycode */
static uint64_t same;		/* bits of an address that don't tell what is there */
static uint32_t
	copies_until; /* instructions up to there are in copies that it knows; 0: no copies */
static sem_t may_go_on;

int __wrap_pycode_read(struct pycode **ret, const struct python_layout *layout,
		       const struct process_memory *memory, uint64_t address, uint32_t sum)
{
	pid_t pid = memory->held ? 0 : *(const pid_t *)memory->arg;

	(void)layout;
	atomic_fetch_add(memory->held ? &copied_reads : &reads, 1);
	switch (address & WHAT) {
	case ONLY_PARENT:
		if (pid != PARENT)
			return -ESRCH;
		break;
	case STALE:
		return -ESTALE;
	case FAULTS:
		return -EFAULT;
	case NO_CODE:
		return -EBADMSG;
	case HANGS:
		sem_wait(&may_go_on);
		return -EFAULT;
	}
	*ret = calloc(1, code_bytes);
	(*ret)->refs = 1;
	(*ret)->bytes = (uint32_t)code_bytes;
	(*ret)->lines.first_line = (int32_t)((address & ~same) >> 12);
	(*ret)->name_len = sum;
	(*ret)->unit_bytes = 1;
	(*ret)->has_copies = copies_until > 0;
	(*ret)->lines.code_bytes = copies_until;
	return 0;
}

static struct world {
	struct loop *loop;
	struct worker *worker;
	struct target_table *table;
	struct codes *codes;
	struct target *target;
} w;

static struct target *add_target(pid_t pid, const struct target *parent)
{
	struct target like = {.pid = pid, .id = (uint64_t)pid};

	like.interpreter = parent ? interpreter_ref(parent->interpreter)
				  : calloc(1, sizeof(*like.interpreter));
	if (parent) {
		codebooks_fork(like.codebooks, parent->codebooks);
		like.forked_from = parent->pid;
	} else {
		like.interpreter->runtime.refs = 1;
	}
	return target_table_add(w.table, &like);
}

static void begin(size_t bytes_max)
{
	assert_int_equal(loop_new(&w.loop), 0);
	assert_int_equal(worker_new(&w.worker, w.loop, "test", LIMIT_NS), 0);
	assert_int_equal(target_table_new(&w.table, 2048), 0);
	assert_int_equal(codes_new(&w.codes, w.loop, w.worker, w.table, &codes_python, bytes_max),
			 0);
	w.target = add_target(PARENT, NULL);
	atomic_store(&reads, 0);
	atomic_store(&copied_reads, 0);
	code_bytes = 200;
	copies_until = 0;
	same = 0;
}

static void end(void)
{
	struct codes_stats stats;

	worker_stop(w.worker);
	loop_flush(w.loop);
	target_table_free(w.table);
	codes_stats(w.codes, &stats);
	assert_int_equal(stats.known, 0);
	assert_int_equal(stats.bytes, 0);
	codes_free(w.codes);
	worker_free(w.worker);
	loop_free(w.loop);
}

static void stop(void *arg)
{
	loop_stop(arg);
}

/* As a drain does it: what was asked for is known then. */
static void settle(void)
{
	codes_flush(w.codes);
	assert_int_equal(worker_fence(w.worker, stop, w.loop), 0);
	assert_int_equal(loop_run(w.loop), 0);
}

static void want(struct target *target, uint64_t address, uint32_t sum)
{
	uint64_t words[] = {
		(uint64_t)FRAME_NATIVE << FRAME_KIND_SHIFT | 0x1234,
		(uint64_t)FRAME_NATIVE_RETURN << FRAME_KIND_SHIFT | 0x1240,
		(uint64_t)FRAME_PYTHON_ENTRY << FRAME_KIND_SHIFT | address,
		(uint64_t)sum << 32 | 7,
	};

	codes_want(w.codes, target, words, sizeof(words) / sizeof(words[0]));
}

static uint64_t lost(enum code_loss loss)
{
	struct codes_stats stats;

	codes_stats(w.codes, &stats);
	return stats.lost[loss];
}

static struct codes_stats figures(void)
{
	struct codes_stats stats;

	codes_stats(w.codes, &stats);
	return stats;
}

static void what_a_stack_has_is_read_once(void **state)
{
	(void)state;
	begin(1 << 20);
	want(w.target, 0x1000, 1);
	want(w.target, 0x1000, 1);
	assert_null(codes_find_python(w.target, 0x1000, 1));
	settle();
	assert_non_null(codes_find_python(w.target, 0x1000, 1));
	assert_null(codes_find_python(w.target, 0x1000, 2));
	want(w.target, 0x1000, 1);
	codes_sweep(w.codes);
	want(w.target, 0x1000, 1);
	settle();
	assert_int_equal(atomic_load(&reads), 1);
	want(w.target, 0x1000, 2); /* another one at that address */
	settle();
	assert_int_equal(atomic_load(&reads), 2);
	assert_int_equal(figures().known, 2);
	end();
}

static void it_is_read_soon_without_a_drain(void **state)
{
	(void)state;
	begin(1 << 20);
	want(w.target, 0x1000, 1);
	while (!codes_find_python(w.target, 0x1000, 1)) {
		assert_int_equal(worker_fence(w.worker, stop, w.loop), 0);
		assert_int_equal(loop_run(w.loop), 0);
	}
	end();
}

static void a_deep_recursion_costs_one_reading(void **state)
{
	uint64_t words[1000];

	(void)state;
	begin(1 << 20);
	for (size_t i = 0; i < 1000; i += 2) {
		words[i] = (uint64_t)FRAME_PYTHON << FRAME_KIND_SHIFT | 0x1000;
		words[i + 1] = (uint64_t)1 << 32 | i;
	}
	words[998] = (uint64_t)FRAME_PYTHON << FRAME_KIND_SHIFT; /* a loop without a frame */
	codes_want(w.codes, w.target, words, 1000);
	settle();
	assert_int_equal(atomic_load(&reads), 1);
	end();
}

static void a_new_copy_of_the_code_has_it_read_again(void **state)
{
	(void)state;
	begin(1 << 20);
	copies_until = 7; /* 7 isn't */
	want(w.target, 0x1000, 1);
	settle();
	want(w.target, 0x1000, 1);
	settle();
	assert_int_equal(atomic_load(&reads), 1); /* in vain: not again in this window */
	assert_non_null(codes_find_python(w.target, 0x1000, 1));
	codes_sweep(w.codes);
	copies_until = 8;
	want(w.target, 0x1000, 1);
	settle();
	want(w.target, 0x1000, 1);
	settle();
	assert_int_equal(atomic_load(&reads), 2);
	assert_true(pycode_has(codes_find_python(w.target, 0x1000, 1), 7));
	assert_int_equal(figures().known, 1);
	for (int loss = 0; loss < CODE_LOST_COUNT; loss++)
		assert_int_equal(lost((enum code_loss)loss), 0);
	end();
}

static void failures_are_counted_once_a_window(void **state)
{
	(void)state;
	begin(1 << 20);
	for (int window = 1; window <= 2; window++) {
		for (int i = 0; i < 3; i++) {
			want(w.target, STALE | 1, 1);
			want(w.target, FAULTS | 1, 1);
			want(w.target, NO_CODE | 1, 1);
			want(w.target, ONLY_PARENT | 1, 1);
			settle();
		}
		assert_int_equal(atomic_load(&reads), 4 * window - (window - 1));
		assert_int_equal(lost(CODE_LOST_CHANGED), window);
		assert_int_equal(lost(CODE_LOST_UNREADABLE), window);
		assert_int_equal(lost(CODE_LOST_ODD), window);
		assert_int_equal(lost(CODE_LOST_GONE), 0);
		codes_sweep(w.codes);
	}
	assert_int_equal(figures().known, 1);
	end();
}

static void a_fork_has_its_parents(void **state)
{
	(void)state;
	begin(1 << 20);
	want(w.target, 0x1000, 1);
	settle();
	struct codes_stats before = figures();
	struct target *child = add_target(CHILD, w.target);
	assert_ptr_equal(codes_find_python(child, 0x1000, 1),
			 codes_find_python(w.target, 0x1000, 1));
	assert_int_equal(figures().bytes, before.bytes); /* shared */
	want(w.target, 0x2000, 1);
	want(child, 0x3000, 1);
	settle();
	assert_null(codes_find_python(child, 0x2000, 1));
	assert_null(codes_find_python(w.target, 0x3000, 1));
	assert_non_null(codes_find_python(child, 0x3000, 1));
	assert_ptr_equal(codes_find_python(child, 0x1000, 1),
			 codes_find_python(w.target, 0x1000, 1));
	end();
}

static void who_forks_and_learns_again_and_again_knows_all(void **state)
{
	struct target *children[20];

	(void)state;
	begin(1 << 20);
	for (uint64_t i = 0; i < 20; i++) {
		want(w.target, (i + 1) << 12, 1);
		settle();
		children[i] = add_target(CHILD + (pid_t)i, w.target);
	}
	for (uint64_t i = 0; i < 20; i++) {
		want(children[i], 0x99000, 1);
		settle();
		for (uint64_t k = 0; k < 20; k++) {
			assert_non_null(codes_find_python(w.target, (k + 1) << 12, 1));
			assert_true(!codes_find_python(children[i], (k + 1) << 12, 1) == (k > i));
		}
	}
	assert_int_equal(figures().known, 21); /* what all children learned is the same */
	assert_int_equal(atomic_load(&reads), 40);
	codes_sweep(w.codes);
	end();
}

static void what_a_child_had_of_its_parent_is_read_there(void **state)
{
	(void)state;
	begin(1 << 20);
	struct target *child = add_target(CHILD, w.target);
	want(child, ONLY_PARENT | 1, 1);
	settle();
	assert_non_null(codes_find_python(child, ONLY_PARENT | 1, 1));
	child->forked_from = 0;
	want(child, ONLY_PARENT | 2, 1);
	settle();
	assert_null(codes_find_python(child, ONLY_PARENT | 2, 1));
	assert_int_equal(lost(CODE_LOST_GONE), 1);
	end();
}

static void who_ended_keeps_its_own_until_its_window_was_named(void **state)
{
	(void)state;
	begin(1 << 20);
	want(w.target, 0x1000, 1);
	settle();
	target_table_end(w.table, w.target, 5);
	assert_non_null(codes_find_python(w.target, 0x1000, 1));
	codes_sweep(w.codes);
	assert_non_null(codes_find_python(w.target, 0x1000, 1));
	want(w.target, 0x2000, 1); /* a late stack, and the process goes while it is read */
	codes_flush(w.codes);
	target_table_sweep(w.table, 6);
	settle();
	assert_int_equal(figures().known, 0);
	end();
}

static void offer(uint64_t address, uint32_t sum)
{
	struct code_copy copy = {.address = address, .sum = sum};

	codes_offer(w.codes, w.target, &copy, CODE_COPY_LEAST);
}

static void a_copy_is_for_the_stack_that_follows(void **state)
{
	(void)state;
	begin(1 << 20);
	offer(0x1000, 1);
	offer(0x1000, 1); /* two CPUs came to it at once */
	offer(0x2000, 1);
	offer(0x3000, 1); /* nobody asks for it */
	want(w.target, 0x1000, 1);
	want(w.target, 0x2000, 2); /* another sum */
	settle();
	assert_int_equal(atomic_load(&copied_reads), 1);
	assert_int_equal(atomic_load(&reads), 1);
	assert_non_null(codes_find_python(w.target, 0x1000, 1));
	offer(0x1000, 1);
	assert_int_equal(figures().copied, 4); /* it is known */
	codes_sweep(w.codes);
	want(w.target, 0x3000, 1); /* it was kept until then */
	settle();
	assert_int_equal(atomic_load(&copied_reads), 1);
	end();
}

static void a_copy_is_read_though_it_could_not_be_before(void **state)
{
	(void)state;
	begin(1 << 20);
	want(w.target, STALE | 0x1000, 1);
	settle();
	want(w.target, STALE | 0x1000, 1);
	settle();
	assert_int_equal(atomic_load(&reads), 1);
	offer(STALE | 0x1000, 1);
	want(w.target, STALE | 0x1000, 1);
	settle();
	assert_int_equal(atomic_load(&copied_reads), 1);
	end();
}

static void copies_are_bounded(void **state)
{
	(void)state;
	begin(1 << 20);
	for (uint64_t i = 1; i <= 5000; i++)
		offer(i << 12, 1);
	assert_int_equal(figures().copied, 4096);
	codes_sweep(w.codes);
	offer(1 << 12, 1);
	assert_int_equal(figures().copied, 4097);
	end();
}

static void what_is_not_used_makes_room(void **state)
{
	const size_t bytes_max = 100000;

	(void)state;
	begin(bytes_max);
	code_bytes = 250;
	for (uint64_t i = 1; i <= 40; i++)
		want(w.target, i << 12, 1);
	settle();
	codes_sweep(w.codes);
	assert_int_equal(figures().known, 40); /* there is room */
	codes_sweep(w.codes);
	for (uint64_t i = 101; i <= 200; i++)
		want(w.target, i << 12, 1);
	settle();
	assert_true(figures().bytes <= bytes_max / 4 + 1000); /* no process has more */
	assert_true(lost(CODE_LOST_NO_ROOM) > 0);
	for (uint64_t i = 1; i <= 10; i++)
		assert_non_null(codes_find_python(w.target, i << 12, 1));
	codes_sweep(w.codes);
	assert_non_null(codes_find_python(w.target, 1 << 12, 1));
	assert_non_null(codes_find_python(w.target, 101 << 12, 1));
	assert_null(codes_find_python(w.target, 20 << 12, 1));
	uint64_t refused = lost(CODE_LOST_NO_ROOM);
	want(w.target, 300 << 12, 1);
	settle();
	assert_non_null(codes_find_python(w.target, 300 << 12, 1));
	assert_int_equal(lost(CODE_LOST_NO_ROOM), refused);
	end();
}

/* Code objects of its own, all of them in this window. */
static void want_many(struct target *target, uint64_t from, uint64_t count)
{
	for (uint64_t i = from; i < from + count; i++)
		want(target, i << 12, 1);
	settle();
}

static void the_process_that_was_not_asked_for_longest_makes_room_for_others(void **state)
{
	struct target *others[5];

	(void)state;
	begin(100000);
	code_bytes = 1000;
	want_many(w.target, 1, 15);
	codes_sweep(w.codes);
	for (pid_t i = 0; i < 5; i++) {
		others[i] = add_target(CHILD + i, NULL);
		want_many(others[i], 100 + 100 * (uint64_t)i, 12);
	}
	codes_sweep(w.codes);
	assert_null(codes_find_python(w.target, 1 << 12, 1));
	for (uint64_t i = 0; i < 5; i++)
		assert_non_null(codes_find_python(others[i], (100 + 100 * i) << 12, 1));
	end();
}

static void the_largest_makes_room_for_those_that_are_asked_as_well(void **state)
{
	struct target *others[6];

	(void)state;
	begin(100000);
	code_bytes = 1000;
	for (pid_t i = 0; i < 6; i++) {
		others[i] = add_target(CHILD + i, NULL);
		want_many(others[i], 100 + 100 * (uint64_t)i, i == 4 ? 20 : 11);
	}
	codes_sweep(w.codes);
	for (uint64_t i = 0; i < 6; i++)
		assert_true((i == 4) == !codes_find_python(others[i], (100 + 100 * i) << 12, 1));
	end();
}

static void one_process_leaves_room_for_others(void **state)
{
	(void)state;
	begin(100000);
	code_bytes = 1000;
	struct target *other = add_target(CHILD, NULL);
	want_many(w.target, 1, 60);
	assert_in_range(figures().known, 20, 25);
	assert_int_equal(lost(CODE_LOST_NO_ROOM), 60 - figures().known);
	want_many(other, 100, 20);
	for (uint64_t i = 100; i < 120; i++)
		assert_non_null(codes_find_python(other, i << 12, 1));
	end();
}

/* They run the same program, each at addresses of its own. */
static void what_is_equal_is_kept_once(void **state)
{
	(void)state;
	begin(1 << 20);
	code_bytes = 1000;
	same = 0xff0000000;
	struct target *other = add_target(CHILD, NULL);
	want_many(w.target, 1, 50);
	struct codes_stats alone = figures();
	want_many(other, 0x10001, 50);
	assert_int_equal(figures().known, 50);
	assert_int_equal(figures().read, 100);
	assert_in_range(figures().bytes - alone.bytes, 1, 50 * 100);
	assert_ptr_equal(codes_find_python(w.target, 1 << 12, 1),
			 codes_find_python(other, 0x10001ULL << 12, 1));
	want(other, 0x10001ULL << 12, 2); /* of another name */
	settle();
	assert_int_equal(figures().known, 51);
	codes_sweep(w.codes);
	target_table_end(w.table, w.target, 5);
	target_table_sweep(w.table, 10);
	assert_non_null(codes_find_python(other, 0x10001ULL << 12, 1));
	end();
}

static void forks_that_all_learn_more_take_no_more_room(void **state)
{
	const size_t bytes_max = 100000;
	uint64_t refused = 0;

	(void)state;
	begin(bytes_max);
	code_bytes = 2000;
	for (uint64_t i = 1; i <= 8; i++)
		want(w.target, i << 12, 1);
	settle();
	for (pid_t i = 0; i < 50; i++) /* all before the first answer */
		want(add_target(CHILD + i, w.target), (100 + (uint64_t)i) << 12, 1);
	settle();
	refused = lost(CODE_LOST_NO_ROOM);
	assert_true(refused > 0 && refused < 50);
	assert_true(figures().bytes <= bytes_max + 50 * 64 + 3000);
	codes_sweep(w.codes);
	assert_true(figures().bytes <= bytes_max);
	end();
}

static void a_thousand_processes_of_one_program_have_room(void **state)
{
	struct target *targets[1000];

	(void)state;
	begin(64 << 20);
	code_bytes = 400;
	same = 0xffc00000;
	for (uint64_t i = 0; i < 1000; i++) {
		targets[i] = add_target((pid_t)(CHILD + i), NULL);
		want_many(targets[i], i << 10 | 1, 400);
	}
	assert_int_equal(figures().known, 400);
	assert_int_equal(lost(CODE_LOST_NO_ROOM), 0);
	codes_sweep(w.codes);
	for (uint64_t i = 0; i < 1000; i++)
		assert_non_null(codes_find_python(targets[i], (i << 10 | 400) << 12, 1));
	end();
}

static void a_process_that_hangs_is_not_asked_again(void **state)
{
	(void)state;
	sem_init(&may_go_on, 0, 0);
	begin(1 << 20);
	want(w.target, 0x1000, 1);
	settle();
	want(w.target, HANGS | 1, 1);
	settle();
	assert_int_equal(lost(CODE_LOST_HUNG), 1);
	want(w.target, 0x2000, 1);
	settle();
	assert_int_equal(lost(CODE_LOST_HUNG), 2);
	assert_null(codes_find_python(w.target, 0x2000, 1));
	assert_non_null(codes_find_python(w.target, 0x1000, 1));
	sem_post(&may_go_on);
	end();
	usleep(10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_stack_has_is_read_once),
		cmocka_unit_test(it_is_read_soon_without_a_drain),
		cmocka_unit_test(a_deep_recursion_costs_one_reading),
		cmocka_unit_test(a_new_copy_of_the_code_has_it_read_again),
		cmocka_unit_test(failures_are_counted_once_a_window),
		cmocka_unit_test(a_fork_has_its_parents),
		cmocka_unit_test(who_forks_and_learns_again_and_again_knows_all),
		cmocka_unit_test(what_a_child_had_of_its_parent_is_read_there),
		cmocka_unit_test(who_ended_keeps_its_own_until_its_window_was_named),
		cmocka_unit_test(what_is_not_used_makes_room),
		cmocka_unit_test(the_process_that_was_not_asked_for_longest_makes_room_for_others),
		cmocka_unit_test(the_largest_makes_room_for_those_that_are_asked_as_well),
		cmocka_unit_test(one_process_leaves_room_for_others),
		cmocka_unit_test(what_is_equal_is_kept_once),
		cmocka_unit_test(forks_that_all_learn_more_take_no_more_room),
		cmocka_unit_test(a_thousand_processes_of_one_program_have_room),
		cmocka_unit_test(a_process_that_hangs_is_not_asked_again),
		cmocka_unit_test(a_copy_is_for_the_stack_that_follows),
		cmocka_unit_test(a_copy_is_read_though_it_could_not_be_before),
		cmocka_unit_test(copies_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
