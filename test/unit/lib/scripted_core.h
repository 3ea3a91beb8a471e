/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The loop, the workers and the engine (command/core.h) over a scripted tracer, and processes of
 * the test's own, for tests of engine/, session/ and api/.
 */
#pragma once

#include "unit/lib/scripted_tracer.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "command/core.h"
#include "proc/proc.h"

#define SCRIPTED_PATIENCE_NS (20 * NS_PER_S) /* until a test fails that waits for something */
#define SCRIPTED_LOOK_NS     (NS_PER_MS / 2)

struct scripted_core {
	struct core core;
	struct loop_timer look;
	bool (*is_done)(void *arg);
	void *arg;
	uint64_t until_ns;
	bool was_done;
};

static const struct tracer_sizes scripted_sizes = {
	.stacks = 4096,
	.targets = 64,
	.stack_ring = 1 << 20,
	.life_ring = 1 << 20,
	.tables_bytes = SCRIPTED_CHUNKS * CHUNK_WORDS * 4,
	.allocations = 4096,
	.python = 1,
	.java = 1,
};

static void scripted_look(void *arg)
{
	struct scripted_core *scene = arg;

	scene->was_done = scene->is_done(scene->arg);
	if (scene->was_done || loop_now_ns() > scene->until_ns)
		loop_stop(scene->core.loop);
	else
		loop_timer_set(scene->core.loop, &scene->look, loop_now_ns() + SCRIPTED_LOOK_NS);
}

/* `scene` is zeroed. */
static inline void scripted_core_begin(struct scripted_core *scene)
{
	assert_int_equal(core_init(&scene->core, &scripted_sizes), 0);
	scene->look = (struct loop_timer){.expired = scripted_look, .arg = scene};
}

static inline void scripted_core_end(struct scripted_core *scene)
{
	core_quiet(&scene->core);
	core_done(&scene->core);
	memset(scene, 0, sizeof(*scene));
}

/* Runs the loop until is_done(arg) is true; fails the test if that takes too long. */
static inline void scripted_core_until(struct scripted_core *scene, bool (*is_done)(void *arg),
				       void *arg)
{
	scene->is_done = is_done;
	scene->arg = arg;
	scene->until_ns = loop_now_ns() + SCRIPTED_PATIENCE_NS;
	loop_timer_set(scene->core.loop, &scene->look, loop_now_ns());
	assert_int_equal(loop_run(scene->core.loop), 0);
	loop_timer_cancel(scene->core.loop, &scene->look);
	assert_true(scene->was_done);
}

static bool scripted_is_set(void *arg)
{
	const bool *is_set = arg;

	return *is_set;
}

static void scripted_set(void *arg)
{
	bool *is_set = arg;

	*is_set = true;
}

/* Reads the current window: what was scripted of it is in the profiles then. */
static inline void scripted_core_drain(struct scripted_core *scene)
{
	bool drained = false;

	engine_drain(scene->core.engine, scripted_set, &drained);
	scripted_core_until(scene, scripted_is_set, &drained);
}

/* A process that sleeps until process_end(). */
struct process {
	pid_t pid;
	uint64_t start_ticks;
};

/* Starts one by that name, which it has when this returns. */
static inline void process_begin(struct process *process, const char *comm)
{
	int ready[2];
	char byte;

	assert_int_equal(pipe(ready), 0);
	process->pid = fork();
	assert_true(process->pid >= 0);
	if (process->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, comm);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);

	struct proc_stat stat;
	assert_int_equal(proc_stat(process->pid, &stat), 0);
	process->start_ticks = stat.start_ticks;
}

static inline void process_end(struct process *process)
{
	if (!process->pid)
		return;
	kill(process->pid, SIGKILL);
	waitpid(process->pid, NULL, 0);
	process->pid = 0;
}
