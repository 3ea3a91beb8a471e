// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/tcp_pair.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/fsuid.h>
#include <sys/wait.h>

#define NOBODY 65534

static enum sock_way ways[] = {SOCK_BY_NETLINK, SOCK_BY_PROC};

/* Which ways this kernel has. */
static bool has_way(enum sock_way way)
{
	struct tcp_pair pair;
	struct sock_owner owner;

	assert_true(tcp_pair_listen(&pair, TCP_V4));
	tcp_pair_connect(&pair, TCP_V4);
	int r = sock_diag_owner(way, &pair.theirs, &pair.ours, &owner);
	tcp_pair_done(&pair);
	if (r < 0)
		print_message("the kernel hasn't way %d: %s\n", way, strerror(-r));
	return r == 0;
}

static void assert_owner(const struct tcp_pair *pair, int result, uid_t uid)
{
	struct sock_owner owner;

	for (size_t i = 0; i < 2; i++) {
		if (!has_way(ways[i]))
			continue;
		owner = (struct sock_owner){.uid = 12345, .cgroup = 67890};
		assert_int_equal(sock_diag_owner(ways[i], &pair->theirs, &pair->ours, &owner),
				 result);
		assert_int_equal(owner.uid, result < 0 ? 12345 : uid);
		if (result < 0)
			assert_int_equal(owner.cgroup, 67890);
		else if (ways[i] == SOCK_BY_PROC)
			assert_int_equal(owner.cgroup, 0);
	}
}

static void a_way_is_found(void **state)
{
	struct sock_owner owner = {.uid = 12345};
	enum sock_way way = sock_diag_try(&owner);

	(void)state;
	assert_int_not_equal(way, SOCK_UNTOLD);
	assert_true(has_way(way));
	assert_int_equal(owner.uid, geteuid());
}

static void whose_a_connection_is_is_told_in_both_families(void **state)
{
	struct tcp_pair pair;

	(void)state;
	for (int kind = TCP_V4; kind <= TCP_V6; kind++) {
		if (!tcp_pair_listen(&pair, kind)) {
			print_message("no IPv6 here\n");
			tcp_pair_done(&pair);
			continue;
		}
		tcp_pair_connect(&pair, kind);
		assert_owner(&pair, 0, geteuid());
		assert_true(sock_is_established(pair.server));
		tcp_pair_done(&pair);
	}
}

/* A client of IPv6 that connects to ::ffff:127.0.0.1 comes as one of IPv4. */
static void a_peer_with_a_mapped_address_is_found(void **state)
{
	struct sockaddr_in6 to = {.sin6_family = AF_INET6};
	struct tcp_pair pair;

	(void)state;
	assert_true(tcp_pair_listen(&pair, TCP_V4));
	socklen_t bytes = sizeof(pair.ours);
	assert_int_equal(getsockname(pair.listener, (struct sockaddr *)&pair.ours, &bytes), 0);
	pair.client = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	inet_pton(AF_INET6, "::ffff:127.0.0.1", &to.sin6_addr);
	to.sin6_port = ((struct sockaddr_in *)&pair.ours)->sin_port;
	if (pair.client < 0 || connect(pair.client, (struct sockaddr *)&to, sizeof(to)) < 0) {
		tcp_pair_done(&pair);
		skip();
	}
	bytes = sizeof(pair.theirs);
	pair.server = accept(pair.listener, (struct sockaddr *)&pair.theirs, &bytes);
	assert_int_equal(pair.theirs.ss_family, AF_INET);
	assert_owner(&pair, 0, geteuid());
	tcp_pair_done(&pair);
}

static void it_is_the_user_who_made_the_socket(void **state)
{
	struct tcp_pair pair;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_true(tcp_pair_listen(&pair, TCP_V4));
	setfsuid(NOBODY);
	tcp_pair_connect(&pair, TCP_V4);
	setfsuid(0);
	assert_owner(&pair, 0, NOBODY);
	tcp_pair_done(&pair);
}

/* accept() gives a socket to who accepts; the other end is the peer's all the same. */
static void the_two_ends_are_told_apart(void **state)
{
	struct sockaddr_storage kept;
	struct tcp_pair pair;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_true(tcp_pair_listen(&pair, TCP_V4));
	setfsuid(NOBODY);
	tcp_pair_begin(&pair, TCP_V4);
	setfsuid(0);
	tcp_pair_accept(&pair);
	assert_owner(&pair, 0, NOBODY);
	kept = pair.theirs;
	pair.theirs = pair.ours;
	pair.ours = kept;
	assert_owner(&pair, 0, 0);
	tcp_pair_done(&pair);
}

/* Of an orphan the kernel says user 0, inode 0. */
static void a_socket_that_nobody_holds_has_no_owner(void **state)
{
	struct tcp_pair pair;

	(void)state;
	assert_true(tcp_pair_listen(&pair, TCP_V4));
	tcp_pair_connect(&pair, TCP_V4);
	tcp_pair_close(&pair.client); /* FIN_WAIT2, orphaned */
	assert_owner(&pair, -ENOENT, 0);
	assert_false(sock_is_established(pair.server));
	tcp_pair_done(&pair);
}

static void nor_has_one_that_still_has_bytes_to_send(void **state)
{
	static char bytes[1 << 20];
	struct tcp_pair pair;

	(void)state;
	assert_true(tcp_pair_listen(&pair, TCP_V4));
	tcp_pair_connect(&pair, TCP_V4);
	while (send(pair.client, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	tcp_pair_close(&pair.client); /* FIN_WAIT1: the window is full */
	assert_owner(&pair, -ENOENT, 0);
	tcp_pair_done(&pair);
}

static void nor_one_that_was_reset(void **state)
{
	const struct linger hard = {.l_onoff = 1};
	struct tcp_pair pair;

	(void)state;
	assert_true(tcp_pair_listen(&pair, TCP_V4));
	tcp_pair_connect(&pair, TCP_V4);
	setsockopt(pair.client, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	tcp_pair_close(&pair.client);
	assert_owner(&pair, -ENOENT, 0);
	assert_false(sock_is_established(pair.server));
	tcp_pair_done(&pair);
}

static void nor_one_whose_sender_has_said_that_it_ends(void **state)
{
	struct tcp_pair pair;

	(void)state;
	assert_true(tcp_pair_listen(&pair, TCP_V4));
	tcp_pair_connect(&pair, TCP_V4);
	shutdown(pair.client, SHUT_WR);
	assert_owner(&pair, -ENOENT, 0);
	tcp_pair_done(&pair);
}

static void nor_one_that_waits_for_late_packets(void **state)
{
	struct tcp_pair pair;

	(void)state;
	assert_true(tcp_pair_listen(&pair, TCP_V4));
	tcp_pair_connect(&pair, TCP_V4);
	tcp_pair_close(&pair.client);
	tcp_pair_close(&pair.server); /* the client's end: TIME_WAIT */
	assert_owner(&pair, -ENOENT, 0);
	tcp_pair_done(&pair);
}

/* A look-up by four numbers finds a listener where there is no connection. */
static void a_listener_is_no_connection(void **state)
{
	struct tcp_pair pair;

	(void)state;
	assert_true(tcp_pair_listen(&pair, TCP_V4));
	tcp_pair_connect(&pair, TCP_V4);
	pair.theirs = pair.ours; /* there is one at this address */
	((struct sockaddr_in *)&pair.ours)->sin_port = htons(1);
	assert_owner(&pair, -ENOENT, 0);
	tcp_pair_done(&pair);
}

static void other_numbers_are_another_connection(void **state)
{
	struct sockaddr_in *port;
	struct tcp_pair pair;

	(void)state;
	assert_true(tcp_pair_listen(&pair, TCP_V4));
	tcp_pair_connect(&pair, TCP_V4);
	port = (struct sockaddr_in *)&pair.theirs;
	port->sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
	assert_owner(&pair, -ENOENT, 0);
	port->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	port = (struct sockaddr_in *)&pair.ours;
	port->sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
	assert_owner(&pair, -ENOENT, 0);
	tcp_pair_done(&pair);
}

static void what_is_no_address_is_refused(void **state)
{
	struct sockaddr_storage theirs = {.ss_family = AF_UNIX}, ours = {.ss_family = AF_UNIX};
	struct sock_owner owner;

	(void)state;
	assert_int_equal(sock_diag_owner(SOCK_BY_NETLINK, &theirs, &ours, &owner), -EAFNOSUPPORT);
	assert_int_equal(sock_diag_owner(SOCK_UNTOLD, &theirs, &ours, &owner), -EOPNOTSUPP);
}

static void what_is_no_connection_is_not_established(void **state)
{
	_cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int pipes[2];

	(void)state;
	assert_false(sock_is_established(fd));
	assert_int_equal(pipe(pipes), 0);
	assert_false(sock_is_established(pipes[0]));
	assert_false(sock_is_established(-1));
	close(pipes[0]);
	close(pipes[1]);
}

/*
 * Takes a network of its own where root may: what other tests leave on the machine's (thousands of
 * connections in TIME-WAIT) is more than is read of /proc/net/tcp.
 */
static void leave_network(void)
{
	struct ifreq loopback = {.ifr_name = "lo", .ifr_flags = IFF_UP};

	if (unshare(CLONE_NEWNET) < 0)
		return;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0) {
		ioctl(fd, SIOCSIFFLAGS, &loopback);
		close(fd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_way_is_found),
		cmocka_unit_test(whose_a_connection_is_is_told_in_both_families),
		cmocka_unit_test(a_peer_with_a_mapped_address_is_found),
		cmocka_unit_test(it_is_the_user_who_made_the_socket),
		cmocka_unit_test(the_two_ends_are_told_apart),
		cmocka_unit_test(a_socket_that_nobody_holds_has_no_owner),
		cmocka_unit_test(nor_has_one_that_still_has_bytes_to_send),
		cmocka_unit_test(nor_one_that_was_reset),
		cmocka_unit_test(nor_one_whose_sender_has_said_that_it_ends),
		cmocka_unit_test(nor_one_that_waits_for_late_packets),
		cmocka_unit_test(a_listener_is_no_connection),
		cmocka_unit_test(other_numbers_are_another_connection),
		cmocka_unit_test(what_is_no_address_is_refused),
		cmocka_unit_test(what_is_no_connection_is_not_established),
	};

	leave_network();

	own_network();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
