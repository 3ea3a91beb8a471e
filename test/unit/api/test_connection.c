// SPDX-License-Identifier: GPL-2.0-or-later
/* api/http/connection: who is shut when there are too many. Each connection is a pair of sockets.
 */
#include "unit/lib/unit.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "api/http/connection.h"

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

static unsigned come_of(struct scene *scene, const struct connection_of *of)
{
	unsigned number = scene->count;
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	scene->ends[number] = fds[1];
	scene->of[number] = connection_add(&scene->connections, fds[0], &scene->listeners[0], of);
	assert_non_null(scene->of[number]);
	scene->count++;
	return number;
}

/* One of a client's, 0 being an administrator; returns its number. */
static unsigned come(struct scene *scene, unsigned client)
{
	const struct connection_of of = {.client = &scene->clients[client], .is_admin = !client};

	return come_of(scene, &of);
}

static unsigned come_for_metrics(struct scene *scene, unsigned client)
{
	const struct connection_of of = {.client = &scene->clients[client], .metrics_only = true};

	return come_of(scene, &of);
}

/* An answer goes out, of which the client took a part so long ago. */
static void write_since(struct scene *scene, unsigned number, uint64_t ago_ns)
{
	connection_set_state(&scene->connections, scene->of[number], CONNECTION_WRITES);
	scene->of[number]->since_ns -= ago_ns;
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
	connection_set_state(&scene->connections, scene->of[0], CONNECTION_WORKS);
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
		connection_set_state(&scene->connections, scene->of[i], CONNECTION_WORKS);
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

static void who_reads_nothing_of_an_answer_goes_after_five_seconds(void **state)
{
	struct scene *scene = *state;

	come_many(scene, 1, CONNECTIONS_MAX / 4);
	for (unsigned i = 0; i < scene->count; i++)
		write_since(scene, i, STUCK_NS / 2);
	assert_true(is_shut(scene, come(scene, 1)));
	scene->of[3]->since_ns -= STUCK_NS;
	scene->of[4]->since_ns -= 2 * STUCK_NS;
	write_since(scene, 4, 0); /* took a part at last */
	assert_false(is_shut(scene, come(scene, 1)));
	assert_true(is_shut(scene, 3));
	assert_int_equal(shut_ones(scene), 2);
}

static void an_administrator_takes_the_place_of_somebody_elses_first(void **state)
{
	struct scene *scene = *state;

	come_many(scene, 0, CONNECTIONS_MAX / 8); /* they have waited longest */
	for (unsigned client = 1; client <= 4; client++)
		come_many(scene, client, 14);
	for (unsigned i = CONNECTIONS_MAX / 8; i < scene->count; i++)
		write_since(scene, i, STUCK_NS);
	come(scene, 0);
	assert_true(is_shut(scene, CONNECTIONS_MAX / 8));
	assert_int_equal(shut_ones(scene), 1);
}

static void who_has_most_gives_a_place_to_who_has_fewer(void **state)
{
	struct scene *scene = *state;

	for (unsigned client = 1; client <= 4; client++)
		come_many(scene, client, client == 2 ? 15 : 13);
	come_many(scene, 5, 2);
	for (unsigned i = 0; i < scene->count; i++)
		write_since(scene, i, i * NS_PER_MS);
	unsigned third = come(scene, 5);
	assert_false(is_shut(scene, third));
	assert_true(is_shut(scene, 27)); /* of the second one's the longest */
	assert_int_equal(shut_ones(scene), 1);
	write_since(scene, third, 0);
	assert_true(is_shut(scene, come(scene, 2))); /* has most itself */
}

static void the_address_for_metrics_has_a_quarter(void **state)
{
	struct scene *scene = *state;

	for (unsigned client = 1; client <= 4; client++) {
		for (unsigned i = 0; i < CONNECTIONS_MAX / 16; i++)
			come_for_metrics(scene, client);
	}
	unsigned other = come(scene, 5);
	assert_int_equal(shut_ones(scene), 0);
	come_for_metrics(scene, 6);
	assert_true(is_shut(scene, 0));
	come_many(scene, 5, 5);
	assert_int_equal(shut_ones(scene), 1);
	assert_false(is_shut(scene, other));
}

static void of_a_listener_that_is_retired_the_idle_ones_go(void **state)
{
	struct scene *scene = *state;

	come_many(scene, 0, 4);
	connection_set_state(&scene->connections, scene->of[1],
			     CONNECTION_WORKS); /* is being answered */
	connection_set_state(&scene->connections, scene->of[2], CONNECTION_WORKS);
	connection_set_state(&scene->connections, scene->of[2],
			     CONNECTION_WAITS); /* was answered */
	scene->of[3]->listener = &scene->listeners[1];
	connection_set_state(&scene->connections, scene->of[3], CONNECTION_WORKS);
	connection_set_state(&scene->connections, scene->of[3], CONNECTION_WAITS);
	connections_end(&scene->connections, &scene->listeners[0]);
	assert_false(is_shut(scene, 0)); /* has yet to send its first request */
	assert_false(is_shut(scene, 1));
	assert_true(is_shut(scene, 2));
	assert_false(is_shut(scene, 3)); /* another listener's */
	assert_true(scene->of[0]->last && scene->of[1]->last);
	assert_false(scene->of[3]->last);
	connections_end(&scene->connections, NULL);
	assert_true(is_shut(scene, 3));
	assert_false(is_shut(scene, 1));
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
		SCENE(who_reads_nothing_of_an_answer_goes_after_five_seconds),
		SCENE(an_administrator_takes_the_place_of_somebody_elses_first),
		SCENE(who_has_most_gives_a_place_to_who_has_fewer),
		SCENE(the_address_for_metrics_has_a_quarter),
		SCENE(of_a_listener_that_is_retired_the_idle_ones_go),
		SCENE(few_descriptors_allow_few_connections),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
