/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code objects that are made up (--wrap, UNITFLAGS): the address tells what reading it gives. */
#pragma once

#include "unit/lib/unit.h"

#include <semaphore.h>
#include <stdatomic.h>

#include "loop/loop.h"
#include "bpf/shared/code_copy.h"
#include "code/code_cache.h"
#include "code/code_python.h"
#include "runtime/interpreter.h"
#include "target/target_memory.h"
#include "python/pycode_state.h"

#define LIMIT_NS (100 * NS_PER_MS)
#define PARENT	 100
#define CHILD	 101

/* Bits of an address. */
#define ONLY_PARENT 0x1000000000 /* the child has ended */
#define STALE	    0x2000000000
#define FAULTS	    0x3000000000
#define NO_CODE	    0x4000000000
#define HANGS	    0x5000000000
#define COMPUTES    0x6000000000
#define WHAT	    0xf000000000

int __wrap_pycode_read(struct pycode **ret, const struct python_layout *layout,
		       const struct process_memory *memory, uint64_t address, uint32_t sum);

static atomic_int reads, copied_reads;
static size_t code_bytes = 200; /* more than a struct pycode */
static bool codes_alone;	/* pycode_is_alone() */
static uint64_t same;		/* bits of an address that don't tell what is there */
static uint32_t
	copies_until; /* instructions up to there are in copies that it knows; 0: no copies */
static uint64_t limit_ns = LIMIT_NS; /* of a reading */
static sem_t may_go_on;
static atomic_bool enough;

int __wrap_pycode_read(struct pycode **ret, const struct python_layout *layout,
		       const struct process_memory *memory, uint64_t address, uint32_t sum)
{
	pid_t pid = memory->held ? 0 : ((const struct job_memory *)memory->arg)->id.pid;

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
	case COMPUTES:
		while (!atomic_load(&enough))
			;
		break;
	}
	*ret = calloc(1, code_bytes);
	(*ret)->refs = 1;
	(*ret)->bytes = (uint32_t)code_bytes;
	(*ret)->lines.first_line = (int32_t)((address & ~same) >> 12);
	(*ret)->name_len = sum;
	(*ret)->unit_bytes = 1;
	(*ret)->has_copies = copies_until > 0;
	(*ret)->is_alone = codes_alone;
	(*ret)->lines.code_bytes = copies_until;
	return 0;
}

static struct world {
	struct loop *loop;
	struct worker *worker;
	struct target_table *table;
	struct code_cache *codes;
	struct target *target;
} w;

static inline struct target *add_target(pid_t pid, const struct target *parent)
{
	struct target like = {.pid = pid, .id = (uint64_t)pid};

	like.runtimes[RUNTIME_PYTHON].known =
		parent ? runtime_ref(parent->runtimes[RUNTIME_PYTHON].known)
		       : calloc(1, sizeof(struct interpreter));
	if (parent) {
		target_table_fork_code(w.table, &like, parent);
		like.forked_from = parent->pid;
	} else {
		like.runtimes[RUNTIME_PYTHON].known->refs = 1;
	}
	return target_table_add(w.table, &like);
}

static inline void begin(size_t bytes_max)
{
	assert_int_equal(loop_new(&w.loop), 0);
	assert_int_equal(worker_new(&w.worker, w.loop, "test", limit_ns), 0);
	assert_int_equal(target_table_new(&w.table, 2048), 0);
	target_table_keep_code(w.table, &code_cache_ops);
	assert_int_equal(
		code_cache_new(&w.codes, w.loop, w.worker, w.table, &code_kind_python, bytes_max),
		0);
	w.target = add_target(PARENT, NULL);
	atomic_store(&reads, 0);
	atomic_store(&copied_reads, 0);
	code_bytes = 200;
	copies_until = 0;
	codes_alone = false;
	same = 0;
}

static inline void end(void)
{
	struct code_cache_stats stats;

	worker_stop(w.worker);
	loop_flush(w.loop);
	target_table_free(w.table);
	code_cache_stats(w.codes, &stats);
	assert_int_equal(stats.known, 0);
	assert_int_equal(stats.bytes, 0);
	code_cache_free(w.codes);
	worker_free(w.worker);
	loop_free(w.loop);
}

static inline void stop(void *arg)
{
	loop_stop(arg);
}

/* As a drain does it: what was asked for is known then. */
static inline void settle(void)
{
	code_cache_flush(w.codes);
	assert_int_equal(worker_fence(w.worker, NULL, stop, w.loop), 0);
	assert_int_equal(loop_run(w.loop), 0);
}

static inline void want(struct target *target, uint64_t address, uint32_t sum)
{
	uint64_t words[] = {
		(uint64_t)FRAME_NATIVE << FRAME_KIND_SHIFT | 0x1234,
		(uint64_t)FRAME_NATIVE_RETURN << FRAME_KIND_SHIFT | 0x1240,
		(uint64_t)FRAME_PYTHON_ENTRY << FRAME_KIND_SHIFT | address,
		(uint64_t)sum << 32 | 7,
	};

	code_cache_want(w.codes, target, words, sizeof(words) / sizeof(words[0]));
}

static inline uint64_t lost(enum code_loss loss)
{
	struct code_cache_stats stats;

	code_cache_stats(w.codes, &stats);
	return stats.lost[loss];
}

static inline struct code_cache_stats figures(void)
{
	struct code_cache_stats stats;

	code_cache_stats(w.codes, &stats);
	return stats;
}
