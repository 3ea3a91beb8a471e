// SPDX-License-Identifier: GPL-2.0-only
/* api/connection: who is shut when there are too many. Each connection is a pair of sockets. */
#include "unit.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "api/connection.h"

struct scene {
	struct loop *loop;
	struct connections connections;
	struct client clients[8]; /* 0: root's */
	struct connection *of[CONNECTIONS_MAX * 2];
	int ends[CONNECTIONS_MAX * 2];
	unsigned count;
	char listeners[2];
};

static int begin(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	struct rlimit limit;

	assert_non_null(scene);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	if (limit.rlim_cur < CONNECTIONS_MAX * 16) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	assert_int_equal(loop_new(&scene->loop), 0);
	connections_init(&scene->connections, scene->loop);
	*state = scene;
	return 0;
}

static int end(void **state)
{
	struct scene *scene = *state;

	while (scene->count) {
		struct connection *connection = scene->of[--scene->count];

		close(connection->fd);
		close(scene->ends[scene->count]);
		connection_del(&scene->connections, connection);
	}
	connections_done(&scene->connections);
	loop_free(scene->loop);
	free(scene);
	return 0;
}

/* One of a client's, 0 being an administrator; returns its number. */
static unsigned come(struct scene *scene, unsigned client)
{
	const struct connection_of of = {.client = &scene->clients[client], .is_admin = !client};
	unsigned number = scene->count;
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	scene->ends[number] = fds[1];
	scene->of[number] = connection_add(&scene->connections, fds[0], &scene->listeners[0], &of);
	assert_non_null(scene->of[number]);
	scene->count++;
	return number;
}

static void come_many(struct scene *scene, unsigned client, unsigned times)
{
	while (times--)
		come(scene, client);
}

/* Whether its other end sees the end. */
static bool is_shut(const struct scene *scene, unsigned number)
{
	char byte;

	return recv(scene->ends[number], &byte, 1, MSG_DONTWAIT) == 0;
}

static unsigned shut_ones(const struct scene *scene)
{
	unsigned shut = 0;

	for (unsigned i = 0; i < scene->count; i++)
		shut += is_shut(scene, i);
	return shut;
}

static void an_administrator_has_all_and_then_the_oldest_goes(void **state)
{
	struct scene *scene = *state;

	come_many(scene, 0, CONNECTIONS_MAX);
	assert_int_equal(shut_ones(scene), 0);
	connection_set_waiting(&scene->connections, scene->of[0], false);
	come(scene, 0);
	assert_false(is_shut(scene, 0)); /* it is being answered */
	assert_true(is_shut(scene, 1));
	assert_int_equal(shut_ones(scene), 1);
}

static void a_client_has_a_quarter_and_loses_its_own_beyond(void **state)
{
	struct scene *scene = *state;

	come(scene, 0);
	come_many(scene, 1, CONNECTIONS_MAX / 4);
	assert_int_equal(shut_ones(scene), 0);
	come(scene, 1);
	assert_true(is_shut(scene, 1));
	come_many(scene, 1, 20);
	assert_int_equal(shut_ones(scene), 21);
	assert_false(is_shut(scene, 0));
	assert_false(is_shut(scene, scene->count - 1));
}

static void whose_are_all_being_answered_loses_the_new_one(void **state)
{
	struct scene *scene = *state;

	come_many(scene, 1, CONNECTIONS_MAX / 4);
	for (unsigned i = 0; i < scene->count; i++)
		connection_set_waiting(&scene->connections, scene->of[i], false);
	unsigned last = come(scene, 1);
	assert_true(is_shut(scene, last));
	assert_int_equal(shut_ones(scene), 1);
}

static void clients_together_leave_an_eighth_to_administrators(void **state)
{
	struct scene *scene = *state;
	unsigned oldest = come(scene, 0);

	for (unsigned client = 1; client <= 5; client++)
		come_many(scene, client, CONNECTIONS_MAX / 4);
	assert_int_equal(scene->count - 1 - shut_ones(scene), CONNECTIONS_MAX * 7 / 8);
	unsigned before = shut_ones(scene);
	come_many(scene, 0, CONNECTIONS_MAX / 8 - 1);
	assert_int_equal(shut_ones(scene), before);
	assert_false(is_shut(scene, oldest));
}

static void an_administrators_connection_takes_the_place_of_who_waited_longest(void **state)
{
	struct scene *scene = *state;

	for (unsigned client = 1; client <= 4; client++)
		come_many(scene, client, 14);
	come_many(scene, 0, CONNECTIONS_MAX - 56);
	assert_int_equal(shut_ones(scene), 0);
	unsigned mine = come(scene, 0);
	assert_false(is_shut(scene, mine));
	assert_true(is_shut(scene, 0));
}

static void of_a_listener_that_is_retired_the_idle_ones_go(void **state)
{
	struct scene *scene = *state;

	come_many(scene, 0, 4);
	connection_set_waiting(&scene->connections, scene->of[1], false); /* is being answered */
	connection_set_waiting(&scene->connections, scene->of[2], false);
	connection_set_waiting(&scene->connections, scene->of[2], true); /* was answered */
	scene->of[3]->listener = &scene->listeners[1];
	connection_set_waiting(&scene->connections, scene->of[3], false);
	connection_set_waiting(&scene->connections, scene->of[3], true);
	connections_shut_idle(&scene->connections, &scene->listeners[0]);
	assert_false(is_shut(scene, 0)); /* has yet to send its first request */
	assert_false(is_shut(scene, 1));
	assert_true(is_shut(scene, 2));
	assert_false(is_shut(scene, 3)); /* another listener's */
}

static void few_descriptors_allow_few_connections(void **state)
{
	struct scene *scene = *state;
	struct connections few;
	struct rlimit limit, before;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	limit = before;
	limit.rlim_cur = 64;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	connections_init(&few, scene->loop);
	connections_done(&few);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(few.max, CONNECTIONS_MIN);
	scene->connections.max = few.max;
	come_many(scene, 1, 2);
	assert_int_equal(shut_ones(scene), 0);
	come(scene, 1);
	assert_int_equal(shut_ones(scene), 1);
	come_many(scene, 0, 2);
	assert_int_equal(shut_ones(scene), 1);
}

#define SCENE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE(an_administrator_has_all_and_then_the_oldest_goes),
		SCENE(a_client_has_a_quarter_and_loses_its_own_beyond),
		SCENE(whose_are_all_being_answered_loses_the_new_one),
		SCENE(clients_together_leave_an_eighth_to_administrators),
		SCENE(an_administrators_connection_takes_the_place_of_who_waited_longest),
		SCENE(of_a_listener_that_is_retired_the_idle_ones_go),
		SCENE(few_descriptors_allow_few_connections),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
