/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon (command/daemon.c) over a scripted tracer, asked by HTTP at its Unix socket: its
 * features, its state file and its server, in a folder of the test's own:
 *
 *	api.sock	the socket
 *	out/		where PUTs may have files written
 *	state.json	what survives a restart (api_restart())
 *
 * The test's own user is an administrator, root or not.
 */
#pragma once

#include "unit/lib/folder.h"
#include "unit/lib/http_client.h"
#include "unit/lib/json_path.h"
#include "unit/lib/scripted_core.h"

#include "api/http/server.h"
#include "api/processes/processes_resource.h"
#include "costs/proc_params.h"
#include "sched/sched_params.h"
#include "api/resource/puts.h"
#include "api/resource/state_file.h"
#include "base/log.h"

#define API_PATH_BYTES 96

struct scripted_api {
	struct scripted_core core;
	struct folder folder;
	char socket[API_PATH_BYTES], out[API_PATH_BYTES];
	struct conf conf; /* a test may change it before api_start() */
	struct services services;
	struct fresh fresh[FRESH_COUNT];
	uint64_t refused[REFUSALS];
	struct server *server;
	struct http_client client; /* of the last api_ask() */
	struct reply reply;
	struct process process; /* "worker", of api_begin_worker() */
	char body[1024];	/* of api_body() */
};

static inline void scripted_api_features(struct scripted_api *api)
{
	struct services *services = &api->services;
	const struct core *core = &api->core.core;
	struct session_setup session = {
		core->loop,
		core->engine,
		{core->bulk, core->foreign, services->bounds.roots, core->host},
		api->conf.retention,
		&api->conf.upload,
		api->conf.state_dir,
		NULL,
	};
	struct history_setup history = {core->loop, core->bulk, api->conf.history, NULL};
	struct ondemand_setup ondemand = {core->loop, core->engine, core->bulk, core->host};
	struct sched_setup sched = {.loop = core->loop, .engine = core->engine};
	struct accounting_setup accounting = {
		.loop = core->loop, .engine = core->engine, .worker = core->bulk};
	struct params defaults;
	struct why why = {0};

	params_default(sched_params(), &defaults);
	sched.defaults = defaults.sched;
	params_default(proc_params(), &defaults);
	accounting.defaults = defaults.proc;
	assert_int_equal(history_new(&services->history, &history), 0);
	session.history = services->history;
	assert_int_equal(session_new(&services->flamegraph, &session, &why), 0);
	assert_int_equal(puts_new(&services->puts, core->loop), 0);
	assert_int_equal(ondemands_new(&services->ondemands, &ondemand), 0);
	assert_int_equal(sched_new(&services->sched, &sched), 0);
	assert_int_equal(accounting_new(&services->accounting, &accounting), 0);
	assert_int_equal(processes_new(&services->processes, core->engine, core->names), 0);
}

/* Makes the server as the conf says. Returns 0, or a negative errno with a sentence in `why`. */
static inline int scripted_api_listen(struct scripted_api *api, struct why *why)
{
	return server_new(&api->server, api->core.core.loop, &api->services, &api->conf, why);
}

/* Makes the features. The server is made by api_start(), or by the test. */
static inline void api_start_features(struct scripted_api *api)
{
	scripted_core_begin(&api->core);
	fresh_init(api->fresh);
	api->services = (struct services){
		.process_metrics = 16,
		.engine = api->core.core.engine,
		.bounds = {.roots = {(const char *const *)api->conf.roots, api->conf.roots_count},
			   .upload = &api->conf.upload},
		.state_dir = api->conf.state_dir,
		.fresh = api->fresh,
		.refused = api->refused,
	};
	scripted_api_features(api);
}

static inline void api_start(struct scripted_api *api)
{
	struct why why = {0};

	api_start_features(api);
	if (scripted_api_listen(api, &why) < 0)
		fail_msg("%s", why.text);
}

/* Ends all but the folder and the conf, in the daemon's order. */
static inline void api_stop(struct scripted_api *api)
{
	puts_stop(api->services.puts);
	history_stop(api->services.history);
	core_quiet(&api->core.core);
	ondemands_free(api->services.ondemands);
	sched_cancel_waits(api->services.sched);
	accounting_cancel_waits(api->services.accounting);
	session_cancel_fetches(api->services.flamegraph);
	server_free(api->server);
	api->server = NULL;
	fresh_done(api->fresh);
	puts_free(api->services.puts);
	session_free(api->services.flamegraph);
	history_free(api->services.history);
	sched_free(api->services.sched);
	accounting_free(api->services.accounting);
	processes_free(api->services.processes);
	scripted_core_end(&api->core);
	memset(api->refused, 0, sizeof(api->refused));
}

/* The daemon ends, and another one begins with its state. */
static inline void api_restart(struct scripted_api *api)
{
	api_stop(api);
	api_start_features(api);
	state_restore(&api->services);
	struct why why = {0};
	assert_int_equal(scripted_api_listen(api, &why), 0);
}

/* Makes a conf for the test's folder. */
static inline void api_conf(const struct scripted_api *api, struct conf *conf)
{
	assert_int_equal(conf_init(conf), 0);
	while (conf->roots_count)
		free(conf->roots[--conf->roots_count]);
	conf->roots[conf->roots_count++] = strdup(api->out);
	free(conf->state_dir);
	conf->state_dir = strdup(api->folder.path);
	free(conf->upload.spool_dir);
	conf->upload.spool_dir = strdup("");
	free(conf->rest.socket);
	conf->rest.socket = strdup(api->socket);
	conf->rest.socket_given = true;
	conf->rest.rules.loopback_uid = false;
	conf->port = 0;
}

/* Makes the folder and a conf. */
static inline struct scripted_api *api_new(void)
{
	struct scripted_api *api = calloc(1, sizeof(*api));

	assert_non_null(api);
	log_set_level(LOG_ERROR);
	memset(scripted_errors, 0, sizeof(scripted_errors));
	folder_make(&api->folder);
	snprintf(api->socket, sizeof(api->socket), "%s/api.sock", api->folder.path);
	snprintf(api->out, sizeof(api->out), "%s/out", api->folder.path);
	assert_int_equal(mkdir(api->out, 0755), 0);
	api_conf(api, &api->conf);
	api->client.fd = -1;
	return api;
}

static inline void api_free(struct scripted_api *api)
{
	process_end(&api->process);
	http_close(&api->client);
	api_stop(api);
	conf_done(&api->conf);
	folder_done(&api->folder);
	free(api);
}

/* Set-up and end of a test whose state is a struct scripted_api. */
static inline int api_begin(void **state)
{
	struct scripted_api *api = api_new();

	api_start(api);
	*state = api;
	return 0;
}

/* The same, with a process that can be chosen. */
static inline int api_begin_worker(void **state)
{
	struct scripted_api *api;

	api_begin(state);
	api = *state;
	process_begin(&api->process, "worker");
	return 0;
}

static inline int api_end(void **state)
{
	api_free(*state);
	return 0;
}

/* ---- requests ---- */

/* Waits for the answer to what the client has sent. */
static inline void api_answer(struct scripted_api *api, struct http_client *client,
			      struct reply *reply)
{
	scripted_core_until(&api->core, http_is_answered, client);
	http_reply(client, reply);
}

/* Writes a request into `text`, which the caller frees. `headers`: lines with their ends. */
static inline char *api_request(const char *method, const char *path, const char *headers,
				const char *body)
{
	char *text = NULL, length[48] = "";

	if (body)
		snprintf(length, sizeof(length), "Content-Length: %zu\r\n", strlen(body));
	assert_true(asprintf(&text, "%s %s HTTP/1.1\r\nHost: localhost\r\n%s%s\r\n%s", method, path,
			     headers, length, body ? body : "") > 0);
	return text;
}

/* Asks at the Unix socket on a connection of its own. The reply is valid until the next one. What
 * the daemon keeps of answers is dropped before. */
static inline const struct reply *api_ask(struct scripted_api *api, const char *method,
					  const char *path, const char *body)
{
	_cleanup_free_ char *request = api_request(method, path, "Connection: close\r\n", body);

	http_close(&api->client);
	fresh_forget(api->fresh);
	http_open_at(&api->client, api->socket);
	http_send(&api->client, request);
	api_answer(api, &api->client, &api->reply);
	return &api->reply;
}

/* A request whose answer comes later. */
struct asking {
	struct http_client client;
	char *text;
};

static inline void api_begin_ask(struct asking *asking, struct scripted_api *api,
				 const char *method, const char *path, const char *body)
{
	asking->text = api_request(method, path, "Connection: close\r\n", body);
	http_open_at(&asking->client, api->socket);
	http_send(&asking->client, asking->text);
	http_turn(&asking->client);
}

static inline void asking_end(struct asking *asking)
{
	http_close(&asking->client);
	free(asking->text);
}
#define _cleanup_asking_ _cleanup_(asking_end)

static inline unsigned asking_status(struct asking *asking, struct scripted_api *api)
{
	struct reply reply;

	api_answer(api, &asking->client, &reply);
	return reply.status;
}

static inline const struct reply *api_get(struct scripted_api *api, const char *path)
{
	return api_ask(api, "GET", path, NULL);
}

/* Writes a body that chooses the worker, for probes ("\"oncpu\",\"mem\""); `more`: further keys,
 * with a comma before. */
static inline const char *api_body(struct scripted_api *api, const char *probes, const char *more)
{
	snprintf(api->body, sizeof(api->body),
		 "{\"cmd\":{\"probe\":[%s]},\"snoopers\":{\"proc_id\":[%d]},\"state\":\"running\"%"
		 "s}",
		 probes, (int)api->process.pid, more);
	return api->body;
}

/* Returns the body that starts all probes of /sched, of all processes. */
static inline const char *api_all_sched(struct scripted_api *api)
{
	struct buf out = BUF_INIT(sizeof(api->body));

	for (int i = 0; i < SCHED_COUNT; i++)
		buf_printf(&out, "%s\"%s\"", i ? "," : "{\"cmd\":{\"probe\":[",
			   sched_kind_get(i)->name);
	buf_str(&out, "]},\"state\":\"running\"}");
	assert_int_equal(buf_error(&out), 0);
	snprintf(api->body, sizeof(api->body), "%.*s", (int)out.len, out.data);
	buf_done(&out);
	return api->body;
}

/* A PUT that has to be taken. */
static inline void api_put(struct scripted_api *api, const char *path, const char *body)
{
	const struct reply *reply = api_ask(api, "PUT", path, body);

	if (reply->status != 200)
		fail_msg("%u: %s", reply->status, reply->body);
	assert_string_equal(
		reply->body,
		"{ \"result\": \"success\", \"message\":\"New config takes effect\" }\n");
}

/* Whether the worker is sampled, with its tables. */
static inline bool api_is_sampled(void *arg)
{
	const struct scripted_api *api = arg;
	struct engine_stats stats;

	engine_stats(api->core.core.engine, &stats);
	return scripted_probes(api->process.pid) && !stats.arming;
}

/* PUTs a body that chooses the worker (api_body()), and waits for it on a machine where that takes
 * longer than the PUT's answer waits. */
static inline void api_choose(struct scripted_api *api, const char *probes, const char *more)
{
	api_put(api, "/flamegraph", api_body(api, probes, more));
	scripted_core_until(&api->core, api_is_sampled, api);
}

/* The reply is that error. */
static inline void assert_failed(const struct reply *reply, unsigned status, const char *message)
{
	/* A 400 has its detail behind the message. */
	const char *rest = status == 400 ? ",\"detail\":\"" : " }\n";
	char expected[1024];

	snprintf(expected, sizeof(expected), "{ \"result\": \"failed\", \"message\":\"%s\"%s",
		 message, rest);
	if (reply->status != status || strncmp(reply->body, expected, strlen(expected)) != 0)
		fail_msg("%u %s, not %u %s", reply->status, reply->body, status, expected);
	assert_has(reply->head, "\r\nContent-Type: application/json\r\n");
}

/* GET of a path that fails. */
static inline void assert_get_fails(struct scripted_api *api, const char *path, unsigned status,
				    const char *message)
{
	assert_failed(api_get(api, path), status, message);
}

/* ---- what the kernel's side sees ---- */

/* Has the kernel's side count a stack of the test's own functions, `leaf` called by `caller`; `end`
 * tells why it is no longer than that. */
static inline void api_stack(const struct process *process, enum probe probe,
			     const struct stack_count *count, enum truncation end, uint64_t leaf,
			     uint64_t caller)
{
	uint64_t words[2] = {(uint64_t)FRAME_NATIVE << FRAME_KIND_SHIFT | leaf,
			     (uint64_t)FRAME_NATIVE_RETURN << FRAME_KIND_SHIFT | (caller + 1)};
	struct target_value value = {0};

	assert_int_equal(tracer_target_get(scripted, process->pid, &value), 0);
	struct stack stack = {
		.key = {.hash = 1 + end, .tgid = (uint32_t)process->pid, .probe = probe},
		.target_id = value.id,
		.time_ns = loop_now_ns(),
		.comm = "thread",
		.words_count = 2,
		.truncated = (uint8_t)end,
	};
	struct count_key key = {.stack = stack.key, .tid = stack.key.tgid, .cpu = CPU_ANY};

	scripted_stack(&stack, words);
	scripted_count(&key, count);
}
