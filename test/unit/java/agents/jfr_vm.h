/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A VM that records, for test_jfr*.c: its files are made here, and what it is asked in
 * attach_scene.h. */
#pragma once

#include <time.h>

#include "unit/java/agents/attach_scene.h"

#include "java/agents/jfr_state.h"

static struct {
	struct jfr *jfr;
	struct jfr_vm *read; /* whose files are to be read */
	int read_error;	     /* they can't be */
	unsigned began, done, taken;
} test;

/* ---- in place of java/agents/jfr_read.c, by the linker (UNITFLAGS_test_jfr…) ---- */

int __wrap_jfr_read(struct jfr_vm *vm);

int __wrap_jfr_read(struct jfr_vm *vm)
{
	test.read = test.read_error ? NULL : vm;
	return test.read_error;
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
	files[PROBE_ONCPU]->head.from_us += test.jfr->from_us;
	files[PROBE_ONCPU]->head.to_us = test.jfr->to_us;
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
	loop_stop(scene.loop);
}

static void take(void *arg, const struct target *target, uint32_t probe, struct jfrfile *file)
{
	(void)arg;
	assert_ptr_equal(target, scene.target);
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

	assert_int_equal(loop_run(scene.loop), 0);
	assert_int_equal(test.done, done + 1);
	recorded = jfr_recorded(test.jfr, scene.target);
	jfr_take(test.jfr, take, NULL);
	assert_int_equal(test.taken - taken, recorded);
	assert_int_equal(jfr_recorded(test.jfr, scene.target), 0);
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
	return jfr_state(test.jfr, scene.target, NULL);
}

static struct jfr *make(void)
{
	struct jfr_wish wish = {1U << PROBE_ONCPU, 10, NS_PER_S * 600};
	struct jfr *jfr;

	assert_int_equal(jfr_new(&jfr, scene.loop, scene.worker, scene.table, began, NULL), 0);
	jfr_set(jfr, &wish);
	return jfr;
}

static int set_up(void **unused)
{
	(void)unused;
	memset(&test, 0, sizeof(test));
	scene_begin();
	test.jfr = make();
	return 0;
}

static int tear_down(void **unused)
{
	(void)unused;
	jfr_free(test.jfr);
	scene_end();
	return 0;
}

/* Its next window is its own. */
static void record(void)
{
	jfr_meet(test.jfr, scene.target);
	assert_int_equal(asked_for(), ATTACH_JFR_START);
	answer(ATTACH_DONE);
	assert_true(end_window());
	assert_int_equal(asked_for(), ATTACH_JFR_DUMP);
	answer(ATTACH_DONE);
	assert_int_equal(joined(), 0);
}
