// SPDX-License-Identifier: GPL-2.0-or-later
/* access/access, access/client, access/passwd, access/role */
#include "unit/lib/unit.h"

#include <pwd.h>

#include "access/access.h"
#include "access/client.h"
#include "access/passwd.h"
#include "loop/loop.h"
#include "proc/permission.h"

#define READER "reader-0123456789"
#define ADMIN  "admin-0123456789"

static const struct peer anonymous = {0};
static const struct peer root = {.has_uid = true, .uid = 0};
static const struct peer user = {.has_uid = true, .uid = 1000};
static const struct peer member = {.is_unix = true, .has_uid = true, .uid = 1000, .in_group = true};
static const struct peer contained = {.is_contained = true, .uid = 0};

static struct access_rules rules_with_tokens(void)
{
	struct access_rules rules = {
		.loopback_uid = true, .has_group = true, .certificate_role = ROLE_PROFILE};

	rules.tokens[ROLE_READ].len = strlen(READER);
	memcpy(rules.tokens[ROLE_READ].text, READER, strlen(READER));
	rules.tokens[ROLE_ADMIN].len = strlen(ADMIN);
	memcpy(rules.tokens[ROLE_ADMIN].text, ADMIN, strlen(ADMIN));
	return rules;
}

/* The role, or a negative errno. */
static int role_of(const struct access_rules *rules, const struct peer *peer, const char *header,
		   bool certificate)
{
	const struct credentials credentials = {peer, header, certificate};
	struct caller caller = {.role = ROLES};
	int r = access_caller(rules, &credentials, &caller);

	if (r < 0)
		assert_int_equal(caller.role, ROLES); /* untouched */
	return r < 0 ? r : (int)caller.role;
}

static void a_peer_has_what_the_kernel_tells_of_it(void **state)
{
	const struct access_rules rules = rules_with_tokens();
	const struct peer own = {.has_uid = true, .uid = geteuid()};

	(void)state;
	assert_int_equal(access_of_peer(&rules, &anonymous), ROLE_METRICS);
	assert_int_equal(access_of_peer(&rules, &root), ROLE_ADMIN);
	assert_int_equal(access_of_peer(&rules, &own), ROLE_ADMIN);
	assert_int_equal(access_of_peer(&rules, &user), ROLE_OWN);
	assert_int_equal(access_of_peer(&rules, &member), ROLE_ADMIN);
	assert_int_equal(access_of_peer(&rules, &contained), ROLE_METRICS);
}

static void a_user_over_tcp_counts_only_while_the_rules_say_so(void **state)
{
	struct access_rules rules = rules_with_tokens();
	const struct credentials credentials = {.peer = &root};
	struct caller caller;

	(void)state;
	rules.loopback_uid = false; /* it was asked for before */
	assert_int_equal(access_of_peer(&rules, &root), ROLE_METRICS);
	assert_int_equal(access_caller(&rules, &credentials, &caller), 0);
	assert_int_equal(caller.role, ROLE_METRICS);
	assert_false(caller.has_uid);
	rules.has_group = false;
	assert_int_equal(access_of_peer(&rules, &member), ROLE_OWN);
}

static void rules_are_equal_where_each_role_is_had_in_the_same_way(void **state)
{
	struct access_rules rules = rules_with_tokens(), others[6];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		others[i] = rules_with_tokens();
		assert_true(access_rules_equal(&rules, &others[i]));
	}
	others[0].open = true;
	others[1].loopback_uid = false;
	others[2].has_group = !others[2].has_group;
	others[3].group++;
	others[4].certificate_role = ROLE_READ;
	others[5].tokens[ROLE_ADMIN].text[0] ^= 1;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(access_rules_equal(&rules, &others[i]));
}

static void an_open_daemon_takes_all_for_administrators(void **state)
{
	const struct access_rules rules = {.open = true};

	(void)state;
	assert_int_equal(role_of(&rules, &anonymous, NULL, false), ROLE_ADMIN);
	assert_int_equal(role_of(&rules, &user, "Bearer nothing", false), ROLE_ADMIN);
}

static void the_largest_of_peer_token_and_certificate_counts(void **state)
{
	const struct access_rules rules = rules_with_tokens();

	(void)state;
	assert_int_equal(role_of(&rules, &anonymous, NULL, false), ROLE_METRICS);
	assert_int_equal(role_of(&rules, &anonymous, "Bearer " READER, false), ROLE_READ);
	assert_int_equal(role_of(&rules, &anonymous, "bearer " ADMIN, false), ROLE_ADMIN);
	assert_int_equal(role_of(&rules, &anonymous, NULL, true), ROLE_PROFILE);
	assert_int_equal(role_of(&rules, &anonymous, "Bearer " READER, true), ROLE_PROFILE);
	assert_int_equal(role_of(&rules, &anonymous, "Bearer " ADMIN, true), ROLE_ADMIN);
	assert_int_equal(role_of(&rules, &user, "Bearer " READER, false), ROLE_READ);
	assert_int_equal(role_of(&rules, &root, "Bearer " READER, false), ROLE_ADMIN);
	assert_int_equal(role_of(&rules, &contained, "Bearer " READER, false), ROLE_READ);
}

static void a_wrong_token_is_no_way_in_for_anybody(void **state)
{
	static const char *const wrong[] = {
		"",
		"Bearer",
		"Bearer ",
		"Bearer x",
		"Basic " ADMIN,
		ADMIN,
		"Bearer  " ADMIN,
		"Bearer " ADMIN " ",
		"Bearer " ADMIN READER,
		"Bearer\t" ADMIN,
		" Bearer " ADMIN,
	};
	const struct access_rules rules = rules_with_tokens();

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(role_of(&rules, &anonymous, wrong[i], false), -EACCES);
		assert_int_equal(role_of(&rules, &anonymous, wrong[i], true), -EACCES);
		assert_int_equal(role_of(&rules, &root, wrong[i], false), -EACCES);
	}
}

static void the_callers_user_stays_known_beside_a_token(void **state)
{
	const struct access_rules rules = rules_with_tokens();
	const struct credentials credentials = {&user, "Bearer " READER, false};
	struct caller caller;

	(void)state;
	assert_int_equal(access_caller(&rules, &credentials, &caller), 0);
	assert_int_equal(caller.role, ROLE_READ);
	assert_true(caller.has_uid);
	assert_int_equal(caller.uid, 1000);
}

static void whoever_has_shown_a_good_credential_is_told_from_who_has_not(void **state)
{
	const struct access_rules rules = rules_with_tokens();
	const struct credentials rows[] = {
		{&contained, NULL, false},
		{&contained, "Bearer " READER, false},
		{&contained, NULL, true},
	};
	struct caller caller;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(access_caller(&rules, &rows[i], &caller), 0);
		assert_int_equal(caller.has_credential, i > 0);
		assert_true(caller.is_contained);
	}
}

static void a_users_group_and_name_are_read_from_passwd(void **state)
{
	const struct passwd *own = getpwuid(getuid());
	char name[33];

	(void)state;
	assert_int_equal(passwd_group(0), 0);
	if (own)
		assert_int_equal(passwd_group(own->pw_uid), own->pw_gid);
	assert_int_equal(passwd_group(3999999999u), GID_UNKNOWN);
	passwd_user(0, name, sizeof(name));
	assert_string_equal(name, "root");
	passwd_user(3999999999u, name, sizeof(name));
	assert_string_equal(name, "3999999999");
	passwd_user(0, name, 3);
	assert_string_equal(name, "ro");
}

static void a_refusal_tells_what_to_do(void **state)
{
	static const struct {
		struct caller caller;
		const char *who;
	} rows[] = {
		{{.role = ROLE_OWN, .has_uid = true, .uid = 1000}, "user 1000 has none but own"},
		{{.role = ROLE_METRICS}, "who isn't known has the role metrics"},
		{{.role = ROLE_READ}, "this request has the role read"},
		{{.role = ROLE_METRICS, .has_credential = true},
		 "this request has the role metrics"},
		{{.role = ROLE_METRICS, .is_contained = true},
		 "a process of another container or sandbox has no user here"},
	};
	char text[640], little[16];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		access_explain(&rows[i].caller, ROLE_ADMIN, text, sizeof(text));
		assert_has(text, rows[i].who);
		assert_has(text, "needs the role admin");
		assert_has(text, "rest_api_server.admin_token_file");
		assert_has(text, "See doc/security.md"); /* not cut */
	}
	access_explain(&rows[0].caller, ROLE_READ, text, sizeof(text));
	assert_has(text, "pid=PID&seconds=10");
	access_explain(&rows[0].caller, ROLE_READ, little, sizeof(little));
	assert_true(strlen(little) < sizeof(little));
}

static void roles_are_found_by_their_names(void **state)
{
	(void)state;
	for (int i = 0; i < ROLES; i++)
		assert_int_equal(role_find(role_name((enum role)i)), i);
	assert_int_equal(role_find("Admin"), ROLE_ADMIN);
	assert_int_equal(role_find("root"), -ENOENT);
	assert_int_equal(role_find(""), -ENOENT);
}

/* ---- clients ---- */

static struct peer peer_with_key(unsigned char number)
{
	struct peer peer = {0};

	peer.key[0] = 1;
	peer.key[1] = number;
	return peer;
}

static void connections_of_one_key_are_one_client(void **state)
{
	struct clients clients;
	const struct peer one = peer_with_key(1), other = peer_with_key(2);

	(void)state;
	clients_init(&clients);
	struct client *a = client_connect(&clients, &one), *b = client_connect(&clients, &other);
	assert_ptr_not_equal(a, b);
	assert_ptr_equal(client_connect(&clients, &one), a);
	assert_int_equal(a->connections, 2);
	client_disconnect(&clients, a);
	assert_ptr_equal(client_connect(&clients, &one), a);
	client_disconnect(&clients, a);
	client_disconnect(&clients, a);
	assert_ptr_equal(clients.all, b); /* a is forgotten */
	client_disconnect(&clients, b);
	assert_null(clients.all);
}

static void a_client_has_two_requests_that_cost_and_all_have_seven(void **state)
{
	struct clients clients;
	struct client *of[5];
	unsigned begun = 0;

	(void)state;
	clients_init(&clients);
	for (unsigned char i = 0; i < 5; i++) {
		const struct peer peer = peer_with_key(i);

		of[i] = client_connect(&clients, &peer);
	}
	assert_true(client_begin_costly(&clients, of[0]));
	assert_true(client_begin_costly(&clients, of[0]));
	assert_false(client_begin_costly(&clients, of[0]));
	client_end_costly(&clients, of[0]);
	assert_true(client_begin_costly(&clients, of[0]));
	for (unsigned i = 1; i < 5; i++) {
		for (unsigned j = 0; j < CLIENT_COSTLY_MAX; j++)
			begun += client_begin_costly(&clients, of[i]);
	}
	assert_int_equal(begun + CLIENT_COSTLY_MAX, COSTLY_MAX);
	client_end_costly(&clients, of[0]);
	assert_true(client_begin_costly(&clients, of[4]));
	assert_false(client_begin_costly(&clients, of[0]));
	while (clients.all) {
		while (clients.all->costly)
			client_end_costly(&clients, clients.all);
		client_disconnect(&clients, clients.all);
	}
	assert_int_equal(clients.costly, 0);
}

static void a_client_begins_four_sessions_and_then_one_a_second(void **state)
{
	const struct peer one = peer_with_key(1), other = peer_with_key(2);
	struct clients clients;
	uint64_t now = loop_now_ns();

	(void)state;
	clients_init(&clients);
	struct client *a = client_connect(&clients, &one), *b = client_connect(&clients, &other);
	for (int i = 0; i < 4; i++)
		assert_true(client_begin_session(&clients, a, now));
	assert_false(client_begin_session(&clients, a, now));
	assert_true(client_begin_session(&clients, b, now)); /* another one's are its own */
	assert_false(client_begin_session(&clients, a, now + CLIENT_SESSION_NS - 1));
	assert_true(client_begin_session(&clients, a, now + CLIENT_SESSION_NS));
	assert_false(client_begin_session(&clients, a, now + CLIENT_SESSION_NS));
	client_disconnect(&clients, a);
	client_disconnect(&clients, b);
	clients_done(&clients);
}

static void who_reconnects_begins_no_more_sessions(void **state)
{
	const struct peer peer = peer_with_key(1), other = peer_with_key(2);
	struct clients clients;
	uint64_t now = loop_now_ns();

	(void)state;
	clients_init(&clients);
	struct client *client = client_connect(&clients, &peer);
	for (int i = 0; i < 4; i++)
		assert_true(client_begin_session(&clients, client, now));
	client_disconnect(&clients, client);
	assert_ptr_equal(client_connect(&clients, &peer), client);
	assert_false(client_begin_session(&clients, client, now));
	client->sessions.paid_until_ns = now; /* it has rested */
	client_disconnect(&clients, client);
	assert_null(clients.all);
	client = client_connect(&clients, &peer);
	assert_true(client_begin_session(&clients, client, now));
	client_disconnect(&clients, client);
	assert_non_null(clients.all);
	clients.all->sessions.paid_until_ns = now;
	client = client_connect(&clients, &other);
	client_disconnect(&clients, client); /* with any other one it is looked at */
	assert_null(clients.all);
}

static void all_clients_begin_eight_sessions_and_then_two_a_second(void **state)
{
	struct clients clients;
	struct client *of[6];
	uint64_t now = loop_now_ns();
	unsigned begun = 0;

	(void)state;
	clients_init(&clients);
	for (unsigned char i = 0; i < 6; i++) {
		const struct peer peer = peer_with_key(i);

		of[i] = client_connect(&clients, &peer);
		for (int j = 0; j < 3; j++)
			begun += client_begin_session(&clients, of[i], now);
	}
	assert_int_equal(begun, 8);
	/* A refusal that others caused takes nothing of the client's own. */
	assert_int_equal(of[5]->sessions.paid_until_ns, 0);
	assert_true(client_begin_session(&clients, of[5], now + SESSION_NS));
	assert_false(client_begin_session(&clients, of[5], now + SESSION_NS));
	for (int i = 0; i < 6; i++)
		client_disconnect(&clients, of[i]);
	clients_done(&clients);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_peer_has_what_the_kernel_tells_of_it),
		cmocka_unit_test(a_user_over_tcp_counts_only_while_the_rules_say_so),
		cmocka_unit_test(rules_are_equal_where_each_role_is_had_in_the_same_way),
		cmocka_unit_test(an_open_daemon_takes_all_for_administrators),
		cmocka_unit_test(the_largest_of_peer_token_and_certificate_counts),
		cmocka_unit_test(a_wrong_token_is_no_way_in_for_anybody),
		cmocka_unit_test(the_callers_user_stays_known_beside_a_token),
		cmocka_unit_test(whoever_has_shown_a_good_credential_is_told_from_who_has_not),
		cmocka_unit_test(a_users_group_and_name_are_read_from_passwd),
		cmocka_unit_test(a_refusal_tells_what_to_do),
		cmocka_unit_test(roles_are_found_by_their_names),
		cmocka_unit_test(connections_of_one_key_are_one_client),
		cmocka_unit_test(a_client_has_two_requests_that_cost_and_all_have_seven),
		cmocka_unit_test(a_client_begins_four_sessions_and_then_one_a_second),
		cmocka_unit_test(who_reconnects_begins_no_more_sessions),
		cmocka_unit_test(all_clients_begin_eight_sessions_and_then_two_a_second),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
