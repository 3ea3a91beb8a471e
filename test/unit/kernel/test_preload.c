// SPDX-License-Identifier: GPL-2.0-or-later
/* Objects that are loaded ahead (kernel/preload.h). They are the test's own, without BPF. */
#include "unit/lib/clock_ahead.h"
#include "unit/lib/unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "kernel/tracer_part.h"
#include "loop/worker.h"

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER; /* locked: loads wait */

/* An object of the test's; its skeleton is its address. */
struct fake {
	atomic_int loads, destroyed, detached;
	int error;
	bool loaded; /* a start has it */
	atomic_bool beside_loop;
	const struct bpf_object *found; /* what it was loaded from */
};

static struct fake base, plain, other;
static pthread_t loop_thread;

static void *load_fake(struct fake *fake, const struct bpf_object *found)
{
	fake->loads++;
	fake->beside_loop = !pthread_equal(pthread_self(), loop_thread);
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	fake->found = found;
	errno = fake->error;
	return fake->error ? NULL : fake;
}

static void destroy_fake(void *bpf)
{
	struct fake *fake = bpf;

	fake->destroyed++;
}

static void detach_fake(void *bpf)
{
	struct fake *fake = bpf;

	fake->detached++;
}

/* Nobody looks into it. */
static const struct bpf_object *object_of_fake(const void *bpf)
{
	return bpf;
}

#define FAKE(name, where)                                                                          \
	static void *load_##name(const struct load_from *from)                                     \
	{                                                                                          \
		return load_fake(&(name), from->sched);                                            \
	}                                                                                          \
	static bool has_##name(const struct tracer *tracer)                                        \
	{                                                                                          \
		(void)tracer;                                                                      \
		return (name).loaded;                                                              \
	}                                                                                          \
	static const struct loadable loadable_##name = {.load = load_##name,                       \
							.destroy = destroy_fake,                   \
							.detach = detach_fake,                     \
							.object = object_of_fake,                  \
							.shared_at = (where),                      \
							.is_loaded = has_##name};                  \
	static const struct loadable *const name##_list[] = {&loadable_##name, NULL};

FAKE(base, offsetof(struct load_from, sched))
FAKE(plain, 0)
FAKE(other, 0)

struct scene {
	struct tracer tracer;
	struct worker *worker;
	struct loop_timer look;
	bool (*is_over)(const struct scene *scene);
	unsigned done, stop_at;
};

static int begin(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	base = plain = other = (struct fake){0};
	loop_thread = pthread_self();
	assert_int_equal(loop_new(&scene->tracer.loop), 0);
	assert_int_equal(worker_new(&scene->worker, scene->tracer.loop, "loads", NS_PER_S), 0);
	assert_int_equal(tracer_load_ahead(&scene->tracer, scene->worker), 0);
	*state = scene;
	return 0;
}

static void end_worker(struct scene *scene)
{
	worker_stop(scene->worker);
	loop_flush(scene->tracer.loop);
}

static int end(void **state)
{
	struct scene *scene = *state;

	end_worker(scene);
	preload_free(scene->tracer.preload);
	worker_free(scene->worker);
	loop_free(scene->tracer.loop);
	free(scene);
	/* Nothing is left behind, and nothing is destroyed twice. */
	assert_int_equal(base.loads - base.destroyed, base.loaded || base.error);
	assert_int_equal(plain.destroyed + plain.loaded + (plain.error != 0), plain.loads);
	return 0;
}

static void count_done(void *arg)
{
	struct scene *scene = arg;

	if (++scene->done == scene->stop_at)
		loop_stop(scene->tracer.loop);
}

/* Wishes for the base and one more; returns whether there is something to wait for. */
static bool wish_for(struct scene *scene, const struct loadable *const *more)
{
	const struct loadable *const *const lists[] = {base_list, NULL, more};

	return tracer_preload(&scene->tracer, lists, 3, count_done, scene);
}

static void run_until(struct scene *scene, unsigned done)
{
	scene->stop_at = done;
	if (scene->done < done)
		assert_int_equal(loop_run(scene->tracer.loop), 0);
	assert_int_equal(scene->done, done);
}

static void a_start_finds_what_was_loaded_beside_the_loop(void **state)
{
	struct scene *scene = *state;

	assert_true(wish_for(scene, plain_list));
	assert_int_equal(scene->done, 0); /* never inside the call */
	run_until(scene, 1);
	assert_true(base.beside_loop && plain.beside_loop);
	assert_ptr_equal(plain.found, &base);
	assert_ptr_equal(preload_take(scene->tracer.preload, &loadable_base), &base);
	assert_ptr_equal(preload_take(scene->tracer.preload, &loadable_plain), &plain);
	assert_null(preload_take(scene->tracer.preload, &loadable_plain));
	base.loaded = plain.loaded = true;
	assert_false(wish_for(scene, plain_list));
	assert_int_equal(base.loads, 1);
}

static void what_waits_to_be_taken_is_not_loaded_again(void **state)
{
	struct scene *scene = *state;

	assert_true(wish_for(scene, plain_list));
	run_until(scene, 1);
	assert_false(wish_for(scene, plain_list));
	assert_true(wish_for(scene, other_list));
	run_until(scene, 2);
	assert_int_equal(base.loads, 1);
	assert_ptr_equal(other.found, &base);
}

static void wishes_that_come_meanwhile_are_one_job(void **state)
{
	struct scene *scene = *state;

	pthread_mutex_lock(&gate);
	assert_true(wish_for(scene, NULL));
	assert_true(wish_for(scene, plain_list));
	assert_true(wish_for(scene, plain_list));
	pthread_mutex_unlock(&gate);
	run_until(scene, 3);
	assert_int_equal(base.loads, 1);
	assert_int_equal(plain.loads, 1);
}

static void what_fails_is_missing_and_said(void **state)
{
	struct scene *scene = *state;

	plain.error = EACCES;
	assert_true(wish_for(scene, plain_list));
	run_until(scene, 1);
	assert_null(preload_take(scene->tracer.preload, &loadable_plain));
	base.error = EPERM; /* the others need it: they aren't tried */
	preload_retire(scene->tracer.preload, &loadable_base,
		       preload_take(scene->tracer.preload, &loadable_base));
	base.loads = base.destroyed = 0;
	assert_true(wish_for(scene, other_list));
	run_until(scene, 2);
	assert_int_equal(other.loads, 0);
}

static void who_is_forgotten_is_not_told(void **state)
{
	struct scene *scene = *state;
	struct scene *second = calloc(1, sizeof(*second));
	const struct loadable *const *const lists[] = {base_list};

	assert_non_null(second);
	assert_true(tracer_preload(&scene->tracer, lists, 1, count_done, second));
	tracer_preload_forget(&scene->tracer, second);
	free(second);
	assert_true(wish_for(scene, plain_list));
	run_until(scene, 1);
}

static void what_nobody_takes_is_unloaded(void **state)
{
	struct scene *scene = *state;

	assert_true(wish_for(scene, plain_list));
	run_until(scene, 1);
	clock_pass(9);
	assert_true(wish_for(scene, other_list));
	run_until(scene, 2);
	assert_int_equal(plain.destroyed, 0);
	clock_pass(11);
	scene->look = (struct loop_timer){.expired = count_done, .arg = scene};
	loop_timer_set(scene->tracer.loop, &scene->look, loop_now_ns());
	run_until(scene, 3);
	assert_int_equal(plain.destroyed, 1);
	assert_int_equal(other.destroyed, 1);
	assert_int_equal(base.destroyed, 1);
}

static void maps_stay_while_others_are_loaded_with_them(void **state)
{
	struct scene *scene = *state;

	base.loaded = true;
	base.loads = 1;
	scene->tracer.sched_object = object_of_fake(&base);
	pthread_mutex_lock(&gate);
	assert_true(wish_for(scene, plain_list));
	while (!plain.loads)
		usleep(1000);
	base.loaded = false; /* its owner stops */
	scene->tracer.sched_object = NULL;
	preload_retire(scene->tracer.preload, &loadable_base, &base);
	assert_int_equal(base.detached, 1);
	assert_int_equal(base.destroyed, 0);
	pthread_mutex_unlock(&gate);
	run_until(scene, 1);
	assert_ptr_equal(plain.found, &base);
	assert_int_equal(base.destroyed, 1);
	assert_int_equal(plain.destroyed, 1); /* it shares maps that nobody else has */
}

static void who_did_not_wait_has_its_own(void **state)
{
	struct scene *scene = *state;

	pthread_mutex_lock(&gate);
	assert_true(wish_for(scene, plain_list));
	while (!base.loads)
		usleep(1000);
	base.loaded = true; /* by a start on the loop, for which base.loads counts as well */
	base.loads++;
	pthread_mutex_unlock(&gate);
	run_until(scene, 1);
	assert_int_equal(base.destroyed, 1);
	assert_int_equal(plain.destroyed, 1);
}

static void ask_for_another(void *arg)
{
	struct scene *scene = arg;

	assert_true(wish_for(scene, other_list));
	count_done(arg);
}

static void who_asks_when_he_is_told_waits_for_the_next_job(void **state)
{
	struct scene *scene = *state;
	const struct loadable *const *const lists[] = {base_list};

	assert_true(tracer_preload(&scene->tracer, lists, 1, ask_for_another, scene));
	run_until(scene, 1);
	assert_int_equal(scene->done, 1);
	run_until(scene, 2);
	assert_ptr_equal(preload_take(scene->tracer.preload, &loadable_other), &other);
}

static void a_job_at_the_end_leaves_nothing(void **state)
{
	struct scene *scene = *state;

	assert_true(wish_for(scene, plain_list));
	end_worker(scene);
	assert_int_equal(plain.loads, plain.destroyed + (scene->done ? 1 : 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_start_finds_what_was_loaded_beside_the_loop,
						begin, end),
		cmocka_unit_test_setup_teardown(what_waits_to_be_taken_is_not_loaded_again, begin,
						end),
		cmocka_unit_test_setup_teardown(wishes_that_come_meanwhile_are_one_job, begin, end),
		cmocka_unit_test_setup_teardown(what_fails_is_missing_and_said, begin, end),
		cmocka_unit_test_setup_teardown(who_is_forgotten_is_not_told, begin, end),
		cmocka_unit_test_setup_teardown(what_nobody_takes_is_unloaded, begin, end),
		cmocka_unit_test_setup_teardown(maps_stay_while_others_are_loaded_with_them, begin,
						end),
		cmocka_unit_test_setup_teardown(who_did_not_wait_has_its_own, begin, end),
		cmocka_unit_test_setup_teardown(who_asks_when_he_is_told_waits_for_the_next_job,
						begin, end),
		cmocka_unit_test_setup_teardown(a_job_at_the_end_leaves_nothing, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
