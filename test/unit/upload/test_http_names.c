// SPDX-License-Identifier: GPL-2.0-or-later
/* A resolver that hangs: libcurl's getaddrinfo() is this one. */
#include "unit/upload/http_scene.h"

#include <netdb.h>

static atomic_uint entered, left;
static atomic_bool may_end;

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
		struct addrinfo **found)
{
	(void)name, (void)service, (void)hints;
	entered++;
	while (!may_end)
		usleep(1000);
	*found = NULL;
	left++;
	return EAI_AGAIN;
}

static bool is_looking_up(struct http_scene *scene)
{
	(void)scene;
	return entered > 0;
}

static void begin(struct http_scene *scene)
{
	entered = left = 0;
	may_end = false;
	scene_begin(scene, NULL, NULL);
	strcpy(scene->url, "http://pyroscope:4040/push");
}

/* The threads end behind their own backs: that they have isn't all that they do. */
static void end(struct http_scene *scene)
{
	may_end = true;
	for (int i = 0; i < 600 && left < entered; i++)
		usleep(10000);
	assert_int_equal(left, entered);
	for (int i = 0; i < 600 && count_fds() > scene->fds + 2; i++)
		usleep(10000);
	usleep(100000);
	scene_end(scene);
}

static void it_does_not_hold_up_the_end_of_a_requests_time(void **state)
{
	struct http_scene scene = {0};
	struct told told = {0};

	(void)state;
	begin(&scene);
	scene_post(&scene, &told, SMALL, 300);
	scene_run(&scene, 1);
	assert_int_equal(told.outcome, HTTP_NOT_SENT);
	assert_string_equal(told.why, "Not sent in time");
	assert_true(entered > 0);
	assert_int_equal(left, 0);
	end(&scene);
}

static void it_does_not_hold_up_who_calls_off(void **state)
{
	struct http_scene scene = {0};
	struct told told = {0};

	(void)state;
	begin(&scene);
	scene_post(&scene, &told, SMALL, TIMEOUT);
	scene_let_go(&scene, is_looking_up);
	assert_false(http_cancel(told.call));
	http_close_idle(scene.http);
	assert_int_equal(left, 0);
	end(&scene);
}

static void it_does_not_hold_up_the_end(void **state)
{
	struct http_scene scene = {0};
	struct told told = {0};

	(void)state;
	begin(&scene);
	scene_post(&scene, &told, SMALL, TIMEOUT);
	scene_let_go(&scene, is_looking_up);
	http_free(scene.http);
	scene.http = NULL;
	assert_int_equal(left, 0);
	assert_false(told.is_done);
	end(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_does_not_hold_up_the_end_of_a_requests_time),
		cmocka_unit_test(it_does_not_hold_up_who_calls_off),
		cmocka_unit_test(it_does_not_hold_up_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
