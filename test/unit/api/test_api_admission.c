// SPDX-License-Identifier: GPL-2.0-or-later
/* Who is let in: tokens, users, browsers, shares. The clock is the test's. */
#include "unit/lib/clock_ahead.h"
#include "unit/lib/scripted_api.h"

#include <sys/syscall.h>

#include "access/client.h"

#define NOBODYS_ID 65534

static void set_token(struct scripted_api *api, enum role role, const char *text)
{
	struct token *token = &api->conf.rest.rules.tokens[role];

	token->len = strlen(text);
	memcpy(token->text, text, token->len + 1);
}

static int begin(void **state)
{
	struct scripted_api *api = api_new();

	set_token(api, ROLE_READ, "reads-0123456789");
	set_token(api, ROLE_PROFILE, "profiles-0123456789");
	set_token(api, ROLE_ADMIN, "administers-0123456789");
	api_start(api);
	process_begin(&api->process, "worker");
	*state = api;
	return 0;
}

/* Asks over TCP, where nobody has a user. `token`: "": none; `headers`: further lines. */
static const struct reply *ask(struct scripted_api *api, const char *token, const char *method,
			       const char *path, const char *headers)
{
	char lines[512];

	snprintf(lines, sizeof(lines), "Connection: close\r\n%s%s%s%s",
		 token[0] ? "Authorization: Bearer " : "", token, token[0] ? "\r\n" : "", headers);
	_cleanup_free_ char *request =
		api_request(method, path, lines, strcmp(method, "PUT") ? NULL : "{}");
	http_close(&api->client);
	fresh_forget(api->fresh);
	http_open_port(&api->client, server_port(api->server));
	http_send(&api->client, request);
	api_answer(api, &api->client, &api->reply);
	return &api->reply;
}

/* How often requests were refused for a cause, by /metrics. */
static void assert_refused(struct scripted_api *api, const char *cause, unsigned times)
{
	char line[80];

	snprintf(line, sizeof(line), "\nstackprobe_http_refused_total{cause=\"%s\"} %u\n", cause,
		 times);
	assert_has(ask(api, "", "GET", "/metrics", "")->body, line);
}

static void who_is_not_known_has_metrics_alone(void **state)
{
	static const char *const paths[] = {"/flamegraph", "/sched", "/flamegraph/oncpu.svg",
					    "/flamegraph/oncpu.svg?seconds=1&pid=1",
					    "/debug/pprof/"};
	struct scripted_api *api = *state;

	assert_int_equal(ask(api, "", "GET", "/healthz", "")->status, 200);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		const struct reply *reply = ask(api, "", "GET", paths[i], "");

		assert_int_equal(reply->status, 401);
		assert_has(reply->head, "\r\nWWW-Authenticate: Bearer\r\n");
		assert_has(reply->body, "who isn't known has the role metrics.");
	}
	assert_int_equal(ask(api, "", "PUT", "/flamegraph", "")->status, 401);
	assert_refused(api, "role", ARRAY_SIZE(paths) + 1);
	assert_refused(api, "token", 0);
}

static void a_token_has_its_role_and_those_below(void **state)
{
	struct scripted_api *api = *state;

	assert_int_equal(ask(api, "reads-0123456789", "GET", "/flamegraph", "")->status, 200);
	assert_int_equal(ask(api, "reads-0123456789", "GET", "/debug/pprof/", "")->status, 200);
	const struct reply *reply =
		ask(api, "reads-0123456789", "GET", "/flamegraph/oncpu.svg?seconds=1&pid=1", "");
	assert_int_equal(reply->status, 403);
	assert_has(reply->body, "this needs the role profile, and this request has the role read.");
	assert_null(strstr(reply->head, "WWW-Authenticate"));
	reply = ask(api, "profiles-0123456789", "GET", "/flamegraph/oncpu.svg?seconds=1", "");
	assert_int_equal(reply->status, 400); /* was let in, but names no process */
	assert_int_equal(ask(api, "profiles-0123456789", "PUT", "/sched", "")->status, 403);
	assert_int_equal(ask(api, "administers-0123456789", "PUT", "/sched", "")->status, 400);
	assert_refused(api, "role", 2);
}

static void a_token_that_is_unknown_is_worse_than_none(void **state)
{
	struct scripted_api *api = *state;

	assert_int_equal(ask(api, "reads-0123456780", "GET", "/healthz", "")->status, 401);
	const struct reply *reply =
		ask(api, "", "GET", "/healthz", "Authorization: Basic cm9vdDo=\r\n");
	assert_int_equal(reply->status, 401);
	assert_has(reply->head, "\r\nWWW-Authenticate: Bearer\r\n");
	assert_has(reply->body, "the header Authorization has no token of this daemon's");
	assert_refused(api, "token", 2);
}

static void single_processes_are_in_metrics_of_who_may_read(void **state)
{
	struct scripted_api *api = *state;

	assert_null(strstr(ask(api, "", "GET", "/metrics", "")->body, "stackprobe_process_cpu"));
	assert_has(ask(api, "reads-0123456789", "GET", "/metrics", "")->body,
		   "# TYPE stackprobe_process_cpu_seconds_total counter\n");
}

static void a_name_that_is_not_this_hosts_is_misdirected(void **state)
{
	static const char raw[] =
		"GET /healthz HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
	struct scripted_api *api = *state;
	_cleanup_http_ struct http_client client;
	struct reply reply;

	http_open_port(&client, server_port(api->server));
	http_send(&client, raw);
	api_answer(api, &client, &reply);
	assert_int_equal(reply.status, 421);
	assert_has(reply.body, "this host isn't known by the name in the header Host");
	assert_refused(api, "host", 1);
}

static void a_page_of_another_origin_may_not_ask(void **state)
{
	struct scripted_api *api = *state;

	assert_failed(ask(api, "reads-0123456789", "GET", "/flamegraph",
			  "Origin: http://evil.example\r\n"),
		      403, "a page of another origin may not ask for this");
	assert_failed(ask(api, "administers-0123456789", "PUT", "/sched",
			  "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n"),
		      403, "a page of another origin may not ask for this");
	assert_refused(api, "origin", 2);
}

static void sessions_are_begun_at_a_rate(void **state)
{
	static const char path[] = "/flamegraph/oncpu.svg?seconds=1&pid=4194304";
	struct scripted_api *api = *state;

	for (int i = 0; i < CLIENT_SESSIONS_BURST; i++)
		assert_int_equal(ask(api, "profiles-0123456789", "GET", path, "")->status, 404);
	const struct reply *reply = ask(api, "profiles-0123456789", "GET", path, "");
	assert_int_equal(reply->status, 429);
	assert_has(reply->head, "\r\nRetry-After: 1\r\n");
	assert_has(reply->body, "sessions were begun too fast: a client may begin 4 at once");
	assert_refused(api, "share", 1);
	clock_pass(1);
	assert_int_equal(ask(api, "profiles-0123456789", "GET", path, "")->status, 404);
	/* Administrators have no share. */
	for (int i = 0; i < 3 * SESSIONS_BURST; i++)
		assert_int_equal(ask(api, "administers-0123456789", "GET", path, "")->status, 404);
}

static bool two_run(void *arg)
{
	return ondemands_count(((struct scripted_api *)arg)->services.ondemands) == 2;
}

static void a_client_has_two_costly_requests_at_a_time(void **state)
{
	struct scripted_api *api = *state;
	struct http_client clients[2];
	char path[80];

	snprintf(path, sizeof(path), "/flamegraph/oncpu.svg?seconds=600&pid=%d",
		 (int)api->process.pid);
	_cleanup_free_ char *request =
		api_request("GET", path, "Authorization: Bearer profiles-0123456789\r\n", NULL);
	for (int i = 0; i < 2; i++) {
		http_open_port(&clients[i], server_port(api->server));
		http_send(&clients[i], request);
		http_turn(&clients[i]);
	}
	scripted_core_until(&api->core, two_run, api);
	const struct reply *reply = ask(api, "profiles-0123456789", "GET", path, "");
	assert_int_equal(reply->status, 429);
	assert_null(strstr(reply->head, "Retry-After"));
	assert_has(reply->body,
		   "as many requests that cost as may be are under way: 2 of a client");
	for (int i = 0; i < 2; i++)
		http_close(&clients[i]);
}

/* Begins to ask at the socket as another user, which only root can. */
static void ask_as_nobody(struct scripted_api *api, const char *path)
{
	snprintf(api->body, sizeof(api->body), "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
	http_close(&api->client);
	/* Of this thread alone. */
	assert_int_equal(syscall(SYS_setresgid, -1, NOBODYS_ID, -1), 0);
	assert_int_equal(syscall(SYS_setresuid, -1, NOBODYS_ID, -1), 0);
	http_open_at(&api->client, api->socket);
	assert_int_equal(syscall(SYS_setresuid, -1, 0, -1), 0);
	assert_int_equal(syscall(SYS_setresgid, -1, 0, -1), 0);
	http_send(&api->client, api->body);
	http_turn(&api->client);
}

static bool is_sampled(void *arg)
{
	const struct process *process = arg;

	return scripted_probes(process->pid) != 0;
}

/* Starts a process of nobody's. */
static void nobody_begins(struct process *process)
{
	int ready[2];
	char byte;

	assert_int_equal(pipe(ready), 0);
	process->pid = fork();
	if (process->pid == 0) {
		if (setresgid(NOBODYS_ID, NOBODYS_ID, NOBODYS_ID) == 0 &&
		    setresuid(NOBODYS_ID, NOBODYS_ID, NOBODYS_ID) == 0 &&
		    prctl(PR_SET_DUMPABLE, 1) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 &&
		    write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
}

static void a_user_has_its_own_processes_alone(void **state)
{
	struct scripted_api *api = *state;
	struct process own;
	struct reply reply;
	char path[80];

	if (geteuid() != 0)
		skip();
	assert_int_equal(fchmod(api->folder.fd, 0755), 0);
	nobody_begins(&own);
	snprintf(path, sizeof(path), "/flamegraph/oncpu.folded?seconds=1&pid=%d", own.pid);
	ask_as_nobody(api, path);
	scripted_core_until(&api->core, is_sampled, &own);
	clock_pass(1);
	api_answer(api, &api->client, &reply);
	assert_int_equal(reply.status, 200);
	snprintf(path, sizeof(path), "/flamegraph/oncpu.folded?seconds=1&pid=%d",
		 (int)api->process.pid);
	ask_as_nobody(api, path);
	api_answer(api, &api->client, &reply);
	assert_int_equal(reply.status, 403);
	assert_has(reply.body, "user 65534 may profile only processes with all user ids 65534");
	ask_as_nobody(api, "/flamegraph");
	api_answer(api, &api->client, &reply);
	assert_int_equal(reply.status, 403);
	assert_has(reply.body, "user 65534 has none but own");
	process_end(&own);
}

#define TOKENS(test) cmocka_unit_test_setup_teardown(test, begin, api_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TOKENS(who_is_not_known_has_metrics_alone),
		TOKENS(a_token_has_its_role_and_those_below),
		TOKENS(a_token_that_is_unknown_is_worse_than_none),
		TOKENS(single_processes_are_in_metrics_of_who_may_read),
		TOKENS(a_name_that_is_not_this_hosts_is_misdirected),
		TOKENS(a_page_of_another_origin_may_not_ask),
		TOKENS(sessions_are_begun_at_a_rate),
		TOKENS(a_client_has_two_costly_requests_at_a_time),
		TOKENS(a_user_has_its_own_processes_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
