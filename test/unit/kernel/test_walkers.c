// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Walkers that are loaded when a target needs them (kernel/walkers.h). The objects are the test's
 * own, without BPF; test/e2e/daemon/test_walkers.py has the real ones.
 */
#include "unit/lib/unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "kernel/tracer_part.h"
#include "loop/worker.h"

/* An object that takes over: what it was loaded for, and from. */
struct fake {
	uint32_t runtimes;
	const struct bpf_object *first;
};

static atomic_int loads, destroyed, to_fail;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER; /* locked: loads wait */

/* Nobody looks into these. */
static const struct bpf_object *const first = (const struct bpf_object *)&loads;

static void *load_fake(const struct load_from *from)
{
	struct fake *fake;

	loads++;
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	if (to_fail > 0) {
		to_fail--;
		errno = EACCES;
		return NULL;
	}
	fake = malloc(sizeof(*fake));
	assert_non_null(fake);
	*fake = (struct fake){walkers_needed(from), from->first};
	return fake;
}

static void destroy_fake(void *bpf)
{
	destroyed++;
	free(bpf);
}

static void detach_fake(void *bpf)
{
	(void)bpf;
}

static const struct bpf_object *object_of_fake(const void *bpf)
{
	return bpf;
}

static const struct loadable hook, other_hook;

static bool has_fake(const struct tracer *tracer)
{
	return walkers_suffice(tracer, &hook);
}

static bool has_other(const struct tracer *tracer)
{
	return walkers_suffice(tracer, &other_hook);
}

#define FAKE_FIELDS                                                                                \
	.load = load_fake, .destroy = destroy_fake, .detach = detach_fake, .object = object_of_fake

static const struct loadable hook = {FAKE_FIELDS, .is_loaded = has_fake};
static const struct loadable other_hook = {FAKE_FIELDS, .is_loaded = has_other};

struct scene {
	struct tracer tracer;
	struct worker *worker;
	struct loop_timer look;
	uint32_t runs[2]; /* walkers that took over, of each hook */
	int refused;	  /* error of take_over(); 0: none */
	unsigned told;	  /* calls of tracer_events.walkers */
};

static struct scene *scene;

static int take(const struct loadable *which, unsigned number, struct fake *fake)
{
	int r = scene->refused;

	assert_ptr_equal(fake->first, number == 0 ? first : NULL);
	if (r == 0) {
		scene->runs[number] = fake->runtimes;
		walkers_run(&scene->tracer, which, fake->runtimes);
	}
	destroy_fake(fake);
	return r;
}

static int take_over(struct tracer *tracer, void *bpf)
{
	(void)tracer;
	return take(&hook, 0, bpf);
}

static int take_over_other(struct tracer *tracer, void *bpf)
{
	(void)tracer;
	return take(&other_hook, 1, bpf);
}

static void count_told(void *arg)
{
	struct scene *its = arg;

	its->told++;
}

static int begin_without_worker(void **state)
{
	scene = calloc(1, sizeof(*scene));
	assert_non_null(scene);
	loads = destroyed = to_fail = 0;
	scene->tracer.events = (struct tracer_events){.walkers = count_told, .arg = scene};
	assert_int_equal(loop_new(&scene->tracer.loop), 0);
	*state = scene;
	return 0;
}

static int begin(void **state)
{
	begin_without_worker(state);
	assert_int_equal(worker_new(&scene->worker, scene->tracer.loop, "loads", NS_PER_S), 0);
	assert_int_equal(tracer_load_ahead(&scene->tracer, scene->worker), 0);
	return 0;
}

static int end(void **state)
{
	(void)state;
	walkers_remove(&scene->tracer, &hook);
	walkers_remove(&scene->tracer, &other_hook);
	walkers_stop(&scene->tracer);
	if (scene->worker)
		worker_stop(scene->worker);
	loop_flush(scene->tracer.loop);
	preload_free(scene->tracer.preload);
	if (scene->worker)
		worker_free(scene->worker);
	loop_free(scene->tracer.loop);
	free(scene);
	assert_int_equal(tracer_awaits_walkers(&(struct tracer){0}), false);
	return 0;
}

static void begin_hook(uint32_t has)
{
	walkers_add(&scene->tracer,
		    &(struct walker){
			    .which = &hook, .first = first, .has = has, .take_over = take_over});
}

static void begin_other(uint32_t has)
{
	walkers_add(
		&scene->tracer,
		&(struct walker){.which = &other_hook, .has = has, .take_over = take_over_other});
}

static void look_again(void *arg)
{
	if (tracer_awaits_walkers(&scene->tracer))
		loop_timer_set(scene->tracer.loop, &scene->look, loop_now_ns() + NS_PER_MS);
	else
		loop_stop(arg);
}

static void run_until_there(void)
{
	scene->look = (struct loop_timer){
		.expired = look_again, .arg = scene->tracer.loop, .name = "look"};
	loop_timer_set(scene->tracer.loop, &scene->look, loop_now_ns());
	assert_int_equal(loop_run(scene->tracer.loop), 0);
}

static void nothing_is_loaded_while_no_target_needs_it(void **state)
{
	(void)state;
	begin_hook(0);
	assert_false(tracer_awaits_walkers(&scene->tracer));
	assert_int_equal(loads, 0);
}

static void each_hook_has_the_walker_when_the_first_target_needs_it(void **state)
{
	(void)state;
	begin_hook(0);
	begin_other(0);
	tracer_walk_runtimes(&scene->tracer, WALKS_PYTHON);
	assert_true(tracer_awaits_walkers(&scene->tracer));
	assert_int_equal(scene->told, 0);
	run_until_there();
	assert_int_equal(scene->runs[0], WALKS_PYTHON);
	assert_int_equal(scene->runs[1], WALKS_PYTHON);
	tracer_walk_runtimes(&scene->tracer, WALKS_PYTHON); /* the next process */
	assert_int_equal(loads, 2);
	assert_true(scene->told >= 1);
}

static void a_second_runtime_adds_its_walker(void **state)
{
	(void)state;
	begin_hook(0);
	tracer_walk_runtimes(&scene->tracer, WALKS_JAVA);
	run_until_there();
	tracer_walk_runtimes(&scene->tracer, WALKS_PYTHON);
	run_until_there();
	assert_int_equal(scene->runs[0], WALKS_ALL);
	assert_int_equal(loads, 2);
	assert_int_equal(destroyed, 2);
}

static void a_runtime_that_is_found_meanwhile_is_not_forgotten(void **state)
{
	(void)state;
	begin_hook(0);
	pthread_mutex_lock(&gate);
	tracer_walk_runtimes(&scene->tracer, WALKS_JAVA);
	while (!loads)
		usleep(1000);
	tracer_walk_runtimes(&scene->tracer, WALKS_PYTHON);
	pthread_mutex_unlock(&gate);
	run_until_there();
	assert_int_equal(scene->runs[0], WALKS_ALL);
}

static void a_hook_that_begins_later_lacks_nothing(void **state)
{
	(void)state;
	tracer_walk_runtimes(&scene->tracer, WALKS_PYTHON);
	begin_hook(WALKS_PYTHON); /* loaded with it */
	assert_int_equal(loads, 0);
	begin_other(0); /* its loading had begun before */
	run_until_there();
	assert_int_equal(scene->runs[1], WALKS_PYTHON);
	assert_int_equal(loads, 1);
}

static void what_is_foreseen_is_loaded_at_once(void **state)
{
	struct load_from from = {.tracer = &scene->tracer};
	void *bpf;

	(void)state;
	tracer_foresee_runtimes(&scene->tracer, WALKS_JAVA);
	bpf = tracer_take(&scene->tracer, &hook);
	from.runtimes = WALKS_JAVA;
	assert_int_equal(((struct fake *)bpf)->runtimes, walkers_needed(&from));
	destroy_fake(bpf);
	begin_hook(WALKS_JAVA);
	tracer_walk_runtimes(&scene->tracer, WALKS_JAVA);
	assert_int_equal(loads, 1);
}

static void a_hook_that_ended_meanwhile_is_left_alone(void **state)
{
	(void)state;
	begin_hook(0);
	begin_other(0);
	pthread_mutex_lock(&gate);
	tracer_walk_runtimes(&scene->tracer, WALKS_PYTHON);
	walkers_remove(&scene->tracer, &hook);
	pthread_mutex_unlock(&gate);
	run_until_there();
	assert_int_equal(scene->runs[0], 0);
	assert_int_equal(scene->runs[1], WALKS_PYTHON);
}

static void what_fails_is_tried_again_and_then_given_up(void **state)
{
	(void)state;
	begin_hook(0);
	to_fail = 1;
	tracer_walk_runtimes(&scene->tracer, WALKS_PYTHON);
	run_until_there();
	assert_int_equal(scene->runs[0], WALKS_PYTHON);
	assert_int_equal(loads, 2);
	to_fail = 100;
	tracer_walk_runtimes(&scene->tracer, WALKS_JAVA);
	run_until_there();
	assert_int_equal(loads, 5); /* the last time by the loop */
	loads = 0;
	tracer_walk_runtimes(&scene->tracer, WALKS_JAVA);
	assert_int_equal(loads, 0);
	assert_int_equal(scene->runs[0], WALKS_PYTHON);
}

static void what_can_not_take_over_is_given_up(void **state)
{
	(void)state;
	begin_hook(0);
	scene->refused = -EINVAL;
	tracer_walk_runtimes(&scene->tracer, WALKS_PYTHON);
	run_until_there();
	assert_int_equal(loads, 1);
	assert_int_equal(destroyed, 1);
	assert_int_equal(scene->told, 0);
}

static void after_a_stop_no_target_needs_any(void **state)
{
	(void)state;
	begin_hook(0);
	tracer_walk_runtimes(&scene->tracer, WALKS_PYTHON);
	walkers_remove(&scene->tracer, &hook);
	walkers_stop(&scene->tracer);
	begin_hook(0);
	assert_false(tracer_awaits_walkers(&scene->tracer));
}

static void without_a_worker_the_loop_loads(void **state)
{
	(void)state;
	begin_hook(0);
	tracer_walk_runtimes(&scene->tracer, WALKS_PYTHON);
	assert_int_equal(scene->runs[0], WALKS_PYTHON);
	assert_int_equal(scene->told, 1);
}

#define WORKED(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORKED(nothing_is_loaded_while_no_target_needs_it),
		WORKED(each_hook_has_the_walker_when_the_first_target_needs_it),
		WORKED(a_second_runtime_adds_its_walker),
		WORKED(a_runtime_that_is_found_meanwhile_is_not_forgotten),
		WORKED(a_hook_that_begins_later_lacks_nothing),
		WORKED(what_is_foreseen_is_loaded_at_once),
		WORKED(a_hook_that_ended_meanwhile_is_left_alone),
		WORKED(what_fails_is_tried_again_and_then_given_up),
		WORKED(what_can_not_take_over_is_given_up),
		WORKED(after_a_stop_no_target_needs_any),
		cmocka_unit_test_setup_teardown(without_a_worker_the_loop_loads,
						begin_without_worker, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
