/* SPDX-License-Identifier: GPL-2.0-only */
/* A VM that records, for test_jfr*.c: what it is asked, and its files, are made here. */
#pragma once

#include <time.h>

#include "unit.h"

#include "base/loop.h"
#include "profile/jfr_state.h"
#include "symbol/held.h"

static struct {
	struct loop *loop;
	struct worker *worker;
	struct target_table *table;
	struct target *target;
	struct jfr *jfr;
	struct question *asked; /* the last one */
	struct jfr_vm *read;	/* whose files are to be read */
	unsigned began, done, taken, told_last;
} test;

/* ---- in place of profile/asking.c and jfr_read.c, by the linker (UNITFLAGS_test_jfr…) ---- */

int __wrap_asking_new(struct asking **ret, struct loop *loop, struct worker *foreign);
void __wrap_asking_free(struct asking *asking);
void __wrap_asking_limit(struct asking *asking, unsigned at_once);
void __wrap_asking_ask(struct asking *asking, struct question *question);
void __wrap_asking_tell(const struct question *question);
bool __wrap_asking_drop(struct question *question);
int __wrap_jfr_read(struct jfr_vm *vm);

int __wrap_asking_new(struct asking **ret, struct loop *loop, struct worker *foreign)
{
	(void)loop;
	(void)foreign;
	*ret = NULL;
	return 0;
}

void __wrap_asking_free(struct asking *asking)
{
	(void)asking;
}

void __wrap_asking_limit(struct asking *asking, unsigned at_once)
{
	(void)asking;
	(void)at_once;
}

void __wrap_asking_ask(struct asking *asking, struct question *question)
{
	(void)asking;
	assert_int_equal(question->step, QUESTION_NONE);
	question->step = QUESTION_ASKED;
	test.asked = question;
}

void __wrap_asking_tell(const struct question *question)
{
	assert_int_equal(question->order.task, ATTACH_JFR_STOP);
	assert_false(question->look);
	assert_true(question->order.folder_fd >= 0);
	test.told_last++;
}

bool __wrap_asking_drop(struct question *question)
{
	return question->step == QUESTION_NONE;
}

int __wrap_jfr_read(struct jfr_vm *vm)
{
	test.read = vm;
	return 0;
}

/* ---- the VM ---- */

static enum attach_task asked_for(void)
{
	return test.asked ? test.asked->order.task : ATTACH_CLEAN;
}

static void answer(enum attach_result result)
{
	struct question *question = TAKE_PTR(test.asked);
	bool started = result == ATTACH_DONE && question->order.task == ATTACH_JFR_START;
	struct attach_answer told = {
		.result = result,
		.folder_fd = started ? dup(0) : -1,
		.tmp_fd = started ? dup(0) : -1,
	};

	question->step = QUESTION_NONE;
	question->answered(question, &told);
}

/* Its file of the window that ended last, with this in its head. */
static void tell_head(const struct jfr_head *head, size_t bytes)
{
	struct jfr_vm *vm = TAKE_PTR(test.read);
	struct jfrfile *files[PROBE_COUNT] = {NULL};

	assert_non_null(vm);
	files[PROBE_ONCPU] = calloc(1, sizeof(**files));
	assert_non_null(files[PROBE_ONCPU]);
	files[PROBE_ONCPU]->head = *head;
	files[PROBE_ONCPU]->head.sequence = vm->sequence;
	files[PROBE_ONCPU]->head.from_us += vm->jfr->from_us;
	files[PROBE_ONCPU]->head.to_us = vm->jfr->to_us;
	files[PROBE_ONCPU]->bytes = bytes;
	jfr_was_read(vm, 0, files);
	for (int probe = 0; probe < PROBE_COUNT; probe++)
		jfrfile_free(files[probe]);
}

/* Beginning `late_us` late. */
static void tell(uint64_t late_us, bool cut)
{
	tell_head(&(struct jfr_head){.from_us = late_us, .lost_samples = 3, .cut = cut}, 0);
}

/* ---- the engine ---- */

static void began(void *arg)
{
	(void)arg;
	test.began++;
}

static void window_done(void *arg)
{
	(void)arg;
	test.done++;
	loop_stop(test.loop);
}

static void take(void *arg, const struct target *target, uint32_t probe, struct jfrfile *file)
{
	(void)arg;
	assert_ptr_equal(target, test.target);
	assert_int_equal(probe, PROBE_ONCPU);
	test.taken++;
	jfrfile_free(file);
}

/* Borders are microseconds: two windows never end in the same one. */
static bool end_window(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 2000}, NULL);
	return jfr_end_window(test.jfr, loop_now_ns(), window_done, NULL);
}

/* Runs until all have told, and gives what was recorded: 0 or 1 window. */
static unsigned joined(void)
{
	unsigned done = test.done, taken = test.taken;
	bool recorded;

	assert_int_equal(loop_run(test.loop), 0);
	assert_int_equal(test.done, done + 1);
	recorded = jfr_recorded(test.jfr, test.target);
	jfr_take(test.jfr, take, NULL);
	assert_int_equal(test.taken - taken, recorded);
	assert_int_equal(jfr_recorded(test.jfr, test.target), 0);
	return recorded;
}

static uint64_t fallen(enum jfr_cause cause)
{
	struct jfr_counts counts;

	jfr_counts(test.jfr, &counts);
	return counts.fell_back[cause];
}

static enum jfr_step state(void)
{
	char why[64];

	return jfr_state(test.jfr, test.target, why, sizeof(why));
}

static struct jfr *make(void)
{
	struct jfr_wish wish = {1U << PROBE_ONCPU, 10, NS_PER_S * 600};
	struct jfr *jfr;

	assert_int_equal(jfr_new(&jfr, test.loop, test.worker, test.table, began, NULL), 0);
	jfr_set(jfr, &wish);
	return jfr;
}

static int set_up(void **unused)
{
	struct target like = {.pid = 7, .id = 1, .start_ticks = 5, .comm = "java", .alive = true};

	(void)unused;
	memset(&test, 0, sizeof(test));
	assert_int_equal(loop_new(&test.loop), 0);
	assert_int_equal(worker_new(&test.worker, test.loop, "test", NS_PER_S), 0);
	assert_int_equal(target_table_new(&test.table, 4), 0);
	test.target = target_table_add(test.table, &like);
	assert_non_null(test.target);
	test.jfr = make();
	return 0;
}

static int tear_down(void **unused)
{
	(void)unused;
	jfr_free(test.jfr);
	assert_true(held_take_many((unsigned)held_max())); /* all places were given back */
	held_give_many((unsigned)held_max());
	worker_stop(test.worker);
	worker_free(test.worker);
	target_table_free(test.table);
	loop_free(test.loop);
	return 0;
}

static bool nobody(void *arg, const struct target *target)
{
	(void)arg;
	(void)target;
	return false;
}

/* Its next window is its own. */
static void record(void)
{
	jfr_meet(test.jfr, test.target);
	assert_int_equal(asked_for(), ATTACH_JFR_START);
	answer(ATTACH_DONE);
	assert_true(end_window());
	assert_int_equal(asked_for(), ATTACH_JFR_DUMP);
	answer(ATTACH_DONE);
	assert_int_equal(joined(), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
