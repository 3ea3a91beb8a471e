/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Targets over a scripted tracer, with processes of the test's own (what happens to them:
 * target_life.h).
 *
 * Linked with TARGETFLAGS (test/test.mk): the clock is the test's (scene_skip()), and so is how
 * long the reading of a process's mappings takes (scene_hold()).
 */
#pragma once

#include "unit/lib/scripted_core.h"

#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "container/cgroup.h"
#include "file/symbol_file.h"
#include "proc/maps.h"
#include "select/containers.h"
#include "target/target.h"

#define SCENE_LIMIT_NS (60 * NS_PER_S) /* of jobs */
#define SCENE_TARGETS  16
#define SCENE_PIDS     4096
#define ONCPU	       (1u << PROBE_ONCPU)
#define OFFCPU	       (1u << PROBE_OFFCPU)
#define SUBSCRIBER(n)  (1u << (n))

static struct {
	struct scripted_core core; /* its loop alone */
	struct worker *urgent, *foreign, *names;
	struct symbol_files *files;
	struct containers *containers;
	struct targets *targets;
	struct snoopers *snoopers;
	struct selection selection;
	struct process process;			  /* of the name `comm` */
	char comm[COMM_BYTES], other[COMM_BYTES]; /* no other process of the host has these */
	unsigned maps_told;			  /* calls of targets_on_maps()'s function */
} scene;

static _Atomic uint64_t skipped_ns, frozen_ns;
static atomic_uint readings[SCENE_PIDS]; /* of mappings, by pid */
static atomic_int held_pid, awaited_pid;
static atomic_uint holding; /* threads that wait */
static sem_t is_held, may_go_on, are_read;

/* What /proc/PID/cgroup says of a process, while its pid isn't 0. */
static struct {
	atomic_int pid;
	const char *text;
} placed[4];
static atomic_int cgroups_error; /* of reading any process's */

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __real_maps_read(pid_t pid, uint64_t until_ns, struct maps *maps);
int __wrap_maps_read(pid_t pid, uint64_t until_ns, struct maps *maps);
int __real_cgroups_read(pid_t pid, struct cgroups *ret);
int __wrap_cgroups_read(pid_t pid, struct cgroups *ret);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	int r = __real_clock_gettime(clock, now);

	if (clock == CLOCK_MONOTONIC) {
		uint64_t ns = frozen_ns;

		if (!ns)
			ns = (uint64_t)now->tv_sec * NS_PER_S + (uint64_t)now->tv_nsec + skipped_ns;
		now->tv_sec = (time_t)(ns / NS_PER_S);
		now->tv_nsec = (long)(ns % NS_PER_S);
	}
	return r;
}

int __wrap_maps_read(pid_t pid, uint64_t until_ns, struct maps *maps)
{
	readings[pid % SCENE_PIDS]++;
	if (pid == held_pid) {
		holding++;
		sem_post(&is_held);
		sem_wait(&may_go_on);
		holding--;
	}
	return __real_maps_read(pid, until_ns, maps);
}

/* An inspection reads the cgroups behind the mappings, if they aren't known. */
int __wrap_cgroups_read(pid_t pid, struct cgroups *ret)
{
	if (pid == awaited_pid)
		sem_post(&are_read);
	if (cgroups_error)
		return cgroups_error;
	for (size_t i = 0; i < ARRAY_SIZE(placed); i++) {
		if (placed[i].pid != pid)
			continue;
		cgroups_parse(placed[i].text, strlen(placed[i].text), ret);
		return 0;
	}
	return __real_cgroups_read(pid, ret);
}

/* ---- time and jobs ---- */

/* Lets time pass. */
static inline void scene_skip(uint64_t ns)
{
	skipped_ns += ns;
}

/*
 * Stops the clock until scene_thaw(); the loop isn't run meanwhile. Returns the time.
 */
static inline uint64_t scene_freeze(void)
{
	frozen_ns = loop_now_ns();
	return frozen_ns;
}

static inline void scene_thaw(void)
{
	frozen_ns = 0;
}

static inline unsigned scene_readings(pid_t pid)
{
	return readings[pid % SCENE_PIDS];
}

/* Lets readings of the process's mappings wait until scene_release(). */
static inline void scene_hold(pid_t pid)
{
	held_pid = pid;
}

static inline void scene_await_held(void)
{
	assert_int_equal(sem_wait(&is_held), 0);
}

/* A thread that was given up waits as well. */
static inline void scene_release(void)
{
	held_pid = 0;
	if (holding)
		sem_post(&may_go_on);
	while (holding)
		sched_yield();
}

/* Waits until an inspection that is held next has read the mappings, but hasn't told them. */
static inline void scene_release_and_await_read(void)
{
	scene_await_held();
	awaited_pid = held_pid;
	scene_release();
	assert_int_equal(sem_wait(&are_read), 0);
}

static inline void scene_until(bool (*is_done)(void *arg), void *arg)
{
	scripted_core_until(&scene.core, is_done, arg);
}

/* Runs the loop until all jobs are done, and those that follow from them. */
static inline void scene_settle(void)
{
	for (int i = 0; i < 3; i++) {
		bool passed = false;

		assert_int_equal(worker_fence(scene.urgent, NULL, scripted_set, &passed), 0);
		scene_until(scripted_is_set, &passed);
	}
}

/* ---- what an outsider sees ---- */

static inline const struct target *scene_current(pid_t pid)
{
	return target_table_current(targets_table(scene.targets), pid);
}

/* Returns the subscribers that get an incarnation's stacks of a probe. */
static inline uint32_t scene_getting(pid_t pid, uint64_t id, enum probe probe)
{
	const struct target *target =
		target_table_find(targets_table(scene.targets), (uint32_t)pid, id);

	return target ? targets_subscribers(scene.targets, target, probe) : 0;
}

/* Returns who gets the stacks that the kernel's side takes of a process now, of on-CPU. */
static inline uint32_t scene_getting_now(pid_t pid)
{
	struct target_value value;

	return tracer_target_get(scripted, pid, &value) == 0
		       ? scene_getting(pid, value.id, PROBE_ONCPU)
		       : 0;
}

static inline uint64_t scene_id(pid_t pid)
{
	struct target_value value = {0};

	tracer_target_get(scripted, pid, &value);
	return value.id;
}

struct scene_visit {
	pid_t pid;
	bool met;
};

static void scene_meet(void *arg, const struct target *target)
{
	struct scene_visit *visit = arg;

	visit->met |= target->pid == visit->pid;
}

/* Returns whether a process is a target on which all is decided. */
static inline bool scene_is_target(pid_t pid)
{
	struct scene_visit visit = {.pid = pid};

	targets_each(scene.targets, scene_meet, &visit);
	return visit.met;
}

static inline struct targets_stats scene_stats(void)
{
	struct targets_stats stats;

	targets_stats(scene.targets, &stats);
	return stats;
}

static bool scene_is_sampled(void *arg)
{
	const struct process *process = arg;

	return scripted_probes(process->pid) != 0;
}

static bool scene_is_gone(void *arg)
{
	const struct process *process = arg;

	return scripted_probes(process->pid) == 0;
}

static bool scene_is_read(void *arg)
{
	const struct process *process = arg;
	const struct target *target = scene_current(process->pid);

	return target && address_space_read_ns(target->space) != 0;
}

static inline void scene_until_sampled(struct process *process)
{
	scene_until(scene_is_sampled, process);
}

static inline void scene_until_dropped(struct process *process)
{
	scene_until(scene_is_gone, process);
}

static inline void scene_until_read(struct process *process)
{
	scene_until(scene_is_read, process);
}

/* ---- begin and end ---- */

static void scene_life(void *arg, const struct life_event *event)
{
	(void)arg;
	targets_on_life(scene.targets, event);
}

static void scene_group(void *arg, const struct group_event *event)
{
	(void)arg;
	targets_on_group(scene.targets, event);
}

static void scene_moved(void *arg, const struct life_event *event)
{
	(void)arg;
	targets_on_moved(scene.targets, event);
}

static void scene_stack(void *arg, const struct stack *stack, const uint64_t *words)
{
	(void)arg;
	targets_on_stack(scene.targets, stack, words, false);
}

static void scene_maps(void *arg)
{
	(void)arg;
	scene.maps_told++;
}

/* Starts the kernel's side. */
static inline void scene_start(void)
{
	struct why why = {0};

	assert_int_equal(tracer_start(scripted, &why), 0);
	targets_kernel_there(scene.targets);
}

static inline void scene_begin_with(uint32_t in_kernel, size_t targets)
{
	static const struct tracer_events events = {.stack = scene_stack,
						    .life = scene_life,
						    .group = scene_group,
						    .moved = scene_moved};
	struct tracer_sizes sizes = scripted_sizes;
	struct tracer *tracer;
	struct loop **loop = &scene.core.core.loop;

	sizes.targets = in_kernel;
	memset(&scene, 0, sizeof(scene));
	scene.selection.wanting[PROBE_ONCPU] = SUBSCRIBER(0);
	for (size_t i = 0; i < SCENE_PIDS; i++)
		readings[i] = 0;
	held_pid = awaited_pid = 0;
	memset(placed, 0, sizeof(placed));
	cgroups_error = 0;
	assert_int_equal(sem_init(&is_held, 0, 0) | sem_init(&may_go_on, 0, 0) |
				 sem_init(&are_read, 0, 0),
			 0);
	assert_int_equal(loop_new(loop), 0);
	scene.core.look = (struct loop_timer){.expired = scripted_look, .arg = &scene.core};
	assert_int_equal(worker_new(&scene.urgent, *loop, "urgent", SCENE_LIMIT_NS), 0);
	assert_int_equal(worker_new(&scene.foreign, *loop, "foreign", SCENE_LIMIT_NS), 0);
	assert_int_equal(worker_new(&scene.names, *loop, "names", SCENE_LIMIT_NS), 0);
	assert_int_equal(tracer_new(&tracer, *loop, &sizes, &events), 0);
	assert_int_equal(symbol_files_new(&scene.files, scene.foreign), 0);
	assert_int_equal(containers_new(&scene.containers, *loop, scene.names), 0);
	assert_int_equal(targets_new(&scene.targets, *loop, tracer, scene.files, scene.containers,
				     scene.urgent, targets),
			 0);
	targets_on_maps(scene.targets, scene_maps, NULL);
	scene_start();
	snprintf(scene.comm, sizeof(scene.comm), "work%d", (int)getpid());
	snprintf(scene.other, sizeof(scene.other), "else%d", (int)getpid());
	process_begin(&scene.process, scene.comm);
}

static inline int scene_begin(void **state)
{
	(void)state;
	scene_begin_with(SCENE_TARGETS, SCENE_TARGETS);
	return 0;
}

static inline int scene_end(void **state)
{
	(void)state;
	scene_thaw();
	scene_release();
	worker_stop(scene.urgent);
	worker_stop(scene.foreign);
	worker_stop(scene.names);
	loop_flush(scene.core.core.loop);
	targets_kernel_gone(scene.targets);
	targets_free(scene.targets);
	containers_free(scene.containers);
	tracer_free(scripted);
	symbol_files_free(scene.files);
	snoopers_unref(scene.snoopers);
	worker_free(scene.urgent);
	worker_free(scene.foreign);
	worker_free(scene.names);
	loop_free(scene.core.core.loop);
	process_end(&scene.process);
	return 0;
}

#define SCENE_TEST(name) cmocka_unit_test_setup_teardown(name, scene_begin, scene_end)

/* ---- selections ---- */

static inline void scene_select(void)
{
	assert_int_equal(targets_select(scene.targets, &scene.selection), 0);
}

/* Has subscriber 0 follow these from now on; takes over the reference. */
static inline void scene_follow(struct snoopers *snoopers)
{
	snoopers_unref(scene.snoopers);
	scene.snoopers = scene.selection.snoopers = snoopers;
	scene.selection.followers = SUBSCRIBER(0);
	scene_select();
}

static inline void scene_follow_pid(pid_t pid)
{
	struct snoopers *snoopers;

	assert_int_equal(snoopers_new(&snoopers), 0);
	assert_int_equal(snoopers_add_id(snoopers, pid), 0);
	scene_follow(snoopers);
}

static inline void scene_follow_name(const char *comm, const char *cmdline)
{
	struct snoopers *snoopers;
	char pattern[COMM_BYTES + 2];

	snprintf(pattern, sizeof(pattern), "^%s$", comm);
	assert_int_equal(snoopers_new(&snoopers), 0);
	assert_int_equal(snoopers_add_name(snoopers, pattern, cmdline, "", 0), 0);
	scene_follow(snoopers);
}

/* Has a subscriber want a process for on-CPU; `id` is borrowed. */
static inline struct chosen *scene_choose(unsigned subscriber, struct process_id *id,
					  const struct process *process)
{
	struct chosen *chosen = &scene.selection.chosen[subscriber];

	*id = (struct process_id){process->pid, process->start_ticks};
	*chosen = (struct chosen){.ids = id, .count = 1};
	scene.selection.wanting[PROBE_ONCPU] |= SUBSCRIBER(subscriber);
	return chosen;
}
