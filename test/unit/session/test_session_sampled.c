// SPDX-License-Identifier: GPL-2.0-or-later
/* session/session_sampled: names of processes that are sampled now, as history's records have them.
 */
#include "unit/session/session_scene.h"

#include "base/intern.h"
#include "session/session_state.h"

static bool has_name(const struct intern *names, const struct process *process, const char *comm)
{
	char name[64];
	int len = snprintf(name, sizeof(name), "[%d]%s", (int)process->pid, comm);

	return intern_find(names, name, (size_t)len) >= 0;
}

static void who_is_sampled_has_a_name_by_number_and_comm(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU);
	struct intern *names = session_sampled(scene->session, PROBE_ONCPU);
	assert_non_null(names);
	assert_int_equal(intern_count(names), 2);
	assert_true(has_name(names, &scene->worker, "worker"));
	assert_true(has_name(names, &scene->other, "other"));
	assert_false(has_name(names, &scene->other, "worker"));
	intern_free(names);
}

static void a_probe_that_does_not_run_samples_nobody(void **state)
{
	struct scene *scene = *state;
	struct intern *names = session_sampled(scene->session, PROBE_ONCPU);

	assert_int_equal(intern_count(names), 0); /* nothing runs so far */
	intern_free(names);
	begin_sampling(scene, ONCPU);
	names = session_sampled(scene->session, PROBE_OFFCPU);
	assert_int_equal(intern_count(names), 0);
	intern_free(names);
}

static void who_has_ended_is_sampled_no_longer(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU);
	const struct life_event exit = {
		.kind = LIFE_EXIT, .tgid = (uint32_t)scene->other.pid, .time_ns = loop_now_ns()};
	process_end(&scene->other);
	scripted_life(&exit);
	scene_drain(scene);
	struct intern *names = session_sampled(scene->session, PROBE_ONCPU);
	assert_int_equal(intern_count(names), 1);
	assert_true(has_name(names, &scene->worker, "worker"));
	intern_free(names);
}

static void a_name_is_as_pictures_show_it(void **state)
{
	struct scene *scene = *state;
	struct process odd;

	process_begin(&odd, "a;b\n[\xff");
	assert_int_equal(snoopers_add_id(scene->spec.snoopers, odd.pid), 0);
	begin_sampling(scene, ONCPU);
	run_until(scene, is_sampled(&odd, ONCPU));
	struct intern *names = session_sampled(scene->session, PROBE_ONCPU);
	assert_int_equal(intern_count(names), 3);
	assert_true(has_name(names, &odd, "a:b [\xef\xbf\xbd"));
	intern_free(names);
	process_end(&odd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(who_is_sampled_has_a_name_by_number_and_comm),
		SCENE_TEST(a_probe_that_does_not_run_samples_nobody),
		SCENE_TEST(who_has_ended_is_sampled_no_longer),
		SCENE_TEST(a_name_is_as_pictures_show_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
