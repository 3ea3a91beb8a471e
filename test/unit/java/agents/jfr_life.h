/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a VM that records was asked, and what is told of it. */
#pragma once

#include "unit/java/agents/jfr_vm.h"

static inline struct jfr_vm *the_vm(void)
{
	return jfr_first(test.jfr);
}

static inline void assert_removed(void)
{
	assert_null(scene.asked);
	assert_int_equal(state(), JFR_NONE);
	assert_false(jfr_has(test.jfr, scene.target));
	assert_int_equal(test.jfr->vms.count, 0);
}

static inline void assert_asked(enum attach_task task)
{
	assert_non_null(scene.asked);
	assert_int_equal(asked_for(), task);
}

static inline void assert_counted(unsigned starting, unsigned recording, unsigned failed)
{
	struct jfr_counts counts;

	jfr_counts(test.jfr, &counts);
	assert_int_equal(counts.starting, starting);
	assert_int_equal(counts.recording, recording);
	assert_int_equal(counts.failed, failed);
}

static inline void assert_why(const char *expected)
{
	struct why why = {0};

	jfr_state(test.jfr, scene.target, &why);
	assert_string_equal(why.text, expected);
}

static inline void assert_none_fell_back(void)
{
	for (enum jfr_cause cause = 0; cause < JFR_CAUSES; cause++)
		assert_int_equal(fallen(cause), 0);
}

/* Makes it that long ago that the VM was asked. */
static inline void pass(uint64_t ns)
{
	the_vm()->attached.asked_ns -= ns;
}

/* Its files are being read. */
static inline void read_window(void)
{
	record();
	assert_true(end_window());
	answer(ATTACH_DONE);
	assert_non_null(test.read);
}

/* It has failed, and is told to stop. */
static inline void fail_once(void)
{
	record();
	assert_true(end_window());
	answer(ATTACH_REFUSED);
	assert_int_equal(joined(), 0);
	assert_asked(ATTACH_JFR_STOP);
}
