// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/tcp_pair.h"

#include <grp.h>
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "access/peer.h"
#include "unit/lib/folder.h"
#include "proc/permission.h"

#define NOBODY 65534
#define GROUP  54321

static struct peer_question question(void)
{
	struct peer_question question = {.loopback_uid = true};

	peer_try(&question.means);
	return question;
}

/* ---- TCP ---- */

static void over_loopback_the_user_is_known_in_each_form_of_address(void **state)
{
	const struct peer_question asked = question();
	struct tcp_pair pair;
	struct peer peer, first = {0};

	(void)state;
	for (int kind = TCP_V4; kind <= TCP_MAPPED; kind++) {
		if (!tcp_pair_listen(&pair, kind)) {
			print_message("no IPv6 here\n");
			tcp_pair_done(&pair);
			continue;
		}
		tcp_pair_connect(&pair, kind);
		peer_find(pair.server, &asked, &peer);
		assert_true(peer.has_uid);
		assert_false(peer.is_unix);
		assert_false(peer.is_contained);
		assert_int_equal(peer.uid, geteuid());
		assert_int_equal(peer.gid, GID_UNKNOWN);
		if (kind == TCP_V4)
			first = peer;
		assert_memory_equal(peer.key, first.key, sizeof(peer.key)); /* the user's */
		tcp_pair_done(&pair);
	}
}

static void a_peer_that_has_gone_is_nobody(void **state)
{
	const struct peer_question asked = question();
	struct tcp_pair pair;
	struct peer peer;

	(void)state;
	for (int hard = 0; hard <= 1; hard++) {
		const struct linger linger = {.l_onoff = hard};

		assert_true(tcp_pair_listen(&pair, TCP_V4));
		tcp_pair_connect(&pair, TCP_V4);
		setsockopt(pair.client, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
		tcp_pair_close(&pair.client);
		peer_find(pair.server, &asked, &peer);
		assert_false(peer.has_uid);
		tcp_pair_done(&pair);
	}
}

static void nobody_is_known_where_the_rule_or_the_kernel_says_nothing(void **state)
{
	const struct peer_question off = {.means.way = SOCK_BY_NETLINK},
				   untold = {.loopback_uid = true, .means.way = SOCK_UNTOLD};
	struct tcp_pair pair;
	struct peer peer;

	(void)state;
	assert_true(tcp_pair_listen(&pair, TCP_V4));
	tcp_pair_connect(&pair, TCP_V4);
	peer_find(pair.server, &off, &peer);
	assert_false(peer.has_uid);
	peer_find(pair.server, &untold, &peer);
	assert_false(peer.has_uid);
	peer_find(-1, &untold, &peer);
	assert_false(peer.has_uid || peer.is_unix);
	tcp_pair_done(&pair);
}

/* /proc/net/tcp has no cgroups. */
static void whose_cgroup_is_not_told_is_nobody_only_within_a_cgroup_namespace(void **state)
{
	struct peer_question asked = {.loopback_uid = true, .means.way = SOCK_BY_PROC};
	struct tcp_pair pair;
	struct peer peer;

	(void)state;
	assert_true(tcp_pair_listen(&pair, TCP_V4));
	tcp_pair_connect(&pair, TCP_V4);
	for (enum cgroup_sight sight = CGROUPS_UNSEEN; sight <= CGROUPS_ALL; sight++) {
		asked.means.sight = sight;
		peer_find(pair.server, &asked, &peer);
		assert_int_equal(peer.has_uid, sight != CGROUPS_BELOW);
		assert_int_equal(peer.is_contained, sight == CGROUPS_BELOW);
	}
	tcp_pair_done(&pair);
}

static void users_and_addresses_have_keys_of_their_own(void **state)
{
	const struct peer_question on = question(), off = {.means.way = SOCK_BY_NETLINK};
	struct peer by_user, by_address, other;
	struct tcp_pair pair;

	(void)state;
	assert_true(tcp_pair_listen(&pair, TCP_V4));
	tcp_pair_connect(&pair, TCP_V4);
	peer_find(pair.server, &on, &by_user);
	peer_find(pair.server, &off, &by_address);
	assert_memory_not_equal(by_user.key, by_address.key, sizeof(by_user.key));
	tcp_pair_done(&pair);
	if (geteuid() != 0)
		skip();
	assert_true(tcp_pair_listen(&pair, TCP_V4));
	setfsuid(NOBODY);
	tcp_pair_connect(&pair, TCP_V4);
	setfsuid(0);
	peer_find(pair.server, &on, &other);
	assert_int_equal(other.uid, NOBODY);
	assert_memory_not_equal(by_user.key, other.key, sizeof(other.key));
	tcp_pair_done(&pair);
}

/* Whoever has one of them has 127.0.0.0/8. */
static void all_of_loopback_is_one_key(void **state)
{
	const struct peer_question off = {.means.way = SOCK_BY_NETLINK};
	struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f010203)};
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int listening = socket(AF_INET, SOCK_STREAM, 0), fds[2], servers[2];
	socklen_t bytes = sizeof(to);
	struct peer peers[2];

	(void)state;
	assert_int_equal(bind(listening, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(listen(listening, 2), 0);
	assert_int_equal(getsockname(listening, (struct sockaddr *)&to, &bytes), 0);
	for (int i = 0; i < 2; i++) {
		fds[i] = socket(AF_INET, SOCK_STREAM, 0);
		if (i)
			assert_int_equal(bind(fds[i], (struct sockaddr *)&from, sizeof(from)), 0);
		assert_int_equal(connect(fds[i], (struct sockaddr *)&to, sizeof(to)), 0);
		servers[i] = accept(listening, NULL, NULL);
		peer_find(servers[i], &off, &peers[i]);
		close(servers[i]);
		close(fds[i]);
	}
	close(listening);
	assert_memory_equal(peers[0].key, peers[1].key, sizeof(peers[0].key));
}

/* ---- Unix sockets ---- */

enum how { AS_ALWAYS, IN_A_SANDBOX, BY_A_PARENT_THAT_ENDS };

static bool has_sandboxes(void)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(setresuid(NOBODY, NOBODY, NOBODY) < 0 || unshare(CLONE_NEWUSER) < 0);
	return waitpid(child, &status, 0) == child && status == 0;
}

/* Connects to it and waits for its end. */
static void connect_and_wait(const struct sockaddr_un *name, enum how how)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	char end;

	if ((how == IN_A_SANDBOX && unshare(CLONE_NEWUSER) < 0) ||
	    connect(fd, (const struct sockaddr *)name, sizeof(*name)) < 0)
		_exit(1);
	if (how == BY_A_PARENT_THAT_ENDS && fork())
		_exit(0);
	_exit(read(fd, &end, 1) == 0 ? 0 : 1);
}

/* Connects as this user with these groups, and looks at the other end; the child stays meanwhile.
 */
static void find_unix_how(uid_t uid, gid_t gid, const gid_t *groups, size_t count, enum how how,
			  const struct peer_question *asked, struct peer *ret)
{
	_cleanup_folder_ struct folder folder;
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	_cleanup_close_ int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	folder_make(&folder);
	assert_int_equal(fchmod(folder.fd, 0755), 0);
	snprintf(name.sun_path, sizeof(name.sun_path), "%s/socket", folder.path);
	assert_int_equal(bind(listener, (struct sockaddr *)&name, sizeof(name)), 0);
	assert_int_equal(chmod(name.sun_path, 0666), 0);
	assert_int_equal(listen(listener, 1), 0);
	pid_t child = fork();
	if (child == 0) {
		close(listener);
		if (setgroups(count, groups) < 0 || setresgid(gid, gid, gid) < 0 ||
		    setresuid(uid, uid, uid) < 0)
			_exit(1);
		connect_and_wait(&name, how);
	}
	int fd = accept(listener, NULL, NULL);
	int status;
	if (how == BY_A_PARENT_THAT_ENDS)
		assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(fd >= 0);
	peer_find(fd, asked, ret);
	close(fd);
	if (how != BY_A_PARENT_THAT_ENDS)
		assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void find_unix(uid_t uid, gid_t gid, const gid_t *groups, size_t count,
		      const struct peer_question *asked, struct peer *ret)
{
	find_unix_how(uid, gid, groups, count, AS_ALWAYS, asked, ret);
}

static void on_a_unix_socket_the_user_and_its_groups_are_known(void **state)
{
	const struct peer_question asked = {.has_group = true, .group = GROUP};
	const gid_t groups[] = {7, GROUP, 9}, others[] = {7, GROUP + 1};
	gid_t many[1000];
	struct peer peer;

	(void)state;
	if (geteuid() != 0)
		skip();
	find_unix(NOBODY, NOBODY, groups, 3, &asked, &peer);
	assert_true(peer.is_unix && peer.has_uid && peer.in_group);
	assert_int_equal(peer.uid, NOBODY);
	assert_int_equal(peer.gid, NOBODY);
	find_unix(NOBODY, GROUP, NULL, 0, &asked, &peer);
	assert_true(peer.in_group);
	assert_int_equal(peer.gid, GROUP);
	find_unix(NOBODY, NOBODY, others, 2, &asked, &peer);
	assert_true(peer.has_uid && !peer.in_group);
	find_unix(NOBODY, NOBODY, NULL, 0, &asked, &peer);
	assert_false(peer.in_group);
	for (gid_t i = 0; i < 1000; i++)
		many[i] = 100000 + i;
	many[999] = GROUP;
	find_unix(NOBODY, NOBODY, many, 1000, &asked, &peer);
	assert_true(peer.in_group);
}

static void on_a_unix_socket_whoever_is_in_another_user_namespace_is_nobody(void **state)
{
	const struct peer_question asked = {.has_group = true, .group = GROUP};
	struct peer peer;

	(void)state;
	if (geteuid() != 0)
		skip();
	if (!has_sandboxes()) {
		print_message("no user namespaces here\n");
		skip();
	}
	find_unix_how(NOBODY, GROUP, NULL, 0, IN_A_SANDBOX, &asked, &peer);
	assert_true(peer.is_unix && peer.is_contained);
	assert_false(peer.has_uid || peer.in_group);
}

/* Its number may be another process's by now. */
static void on_a_unix_socket_of_a_process_that_has_ended_nobody_is_known(void **state)
{
	const struct peer_question asked = {0};
	struct peer peer;

	(void)state;
	if (geteuid() != 0)
		skip();
	find_unix_how(NOBODY, NOBODY, NULL, 0, BY_A_PARENT_THAT_ENDS, &asked, &peer);
	assert_false(peer.has_uid);
}

static void without_a_group_asked_for_nobody_is_of_it(void **state)
{
	const struct peer_question asked = {.group = 0}; /* has_group is false */
	struct peer peer;

	(void)state;
	if (geteuid() != 0)
		skip();
	find_unix(NOBODY, 0, NULL, 0, &asked, &peer);
	assert_true(peer.has_uid);
	assert_false(peer.in_group);
}

static void a_user_has_one_share_over_both_kinds_of_socket(void **state)
{
	const struct peer_question asked = question();
	struct peer by_tcp, by_unix;
	struct tcp_pair pair;

	(void)state;
	if (geteuid() != 0)
		skip();
	find_unix(0, 0, NULL, 0, &asked, &by_unix);
	assert_true(tcp_pair_listen(&pair, TCP_V4));
	tcp_pair_connect(&pair, TCP_V4);
	peer_find(pair.server, &asked, &by_tcp);
	assert_memory_equal(by_unix.key, by_tcp.key, sizeof(by_tcp.key));
	tcp_pair_done(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(over_loopback_the_user_is_known_in_each_form_of_address),
		cmocka_unit_test(a_peer_that_has_gone_is_nobody),
		cmocka_unit_test(nobody_is_known_where_the_rule_or_the_kernel_says_nothing),
		cmocka_unit_test(whose_cgroup_is_not_told_is_nobody_only_within_a_cgroup_namespace),
		cmocka_unit_test(users_and_addresses_have_keys_of_their_own),
		cmocka_unit_test(all_of_loopback_is_one_key),
		cmocka_unit_test(on_a_unix_socket_the_user_and_its_groups_are_known),
		cmocka_unit_test(on_a_unix_socket_whoever_is_in_another_user_namespace_is_nobody),
		cmocka_unit_test(on_a_unix_socket_of_a_process_that_has_ended_nobody_is_known),
		cmocka_unit_test(without_a_group_asked_for_nobody_is_of_it),
		cmocka_unit_test(a_user_has_one_share_over_both_kinds_of_socket),
	};

	own_network();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
