// SPDX-License-Identifier: GPL-2.0-or-later
/* GET /processes: what runs, read from /proc by a worker. */
#include "unit/lib/clock_ahead.h"
#include "unit/lib/scripted_api.h"

#include <semaphore.h>

#define JOB_LIMIT_S 4 /* longer than a job on the worker may take */

/* Whose command line isn't read in time, and until when. */
static atomic_int hanging_pid;
static atomic_uint hangs;
static sem_t hangs_no_more;
static atomic_bool waits_are_off;

int __real_proc_command(pid_t pid, char *text, size_t bytes, bool *is_cut);
int __wrap_proc_command(pid_t pid, char *text, size_t bytes, bool *is_cut);
bool __real_proc_counts_waits(void);
bool __wrap_proc_counts_waits(void);

int __wrap_proc_command(pid_t pid, char *text, size_t bytes, bool *is_cut)
{
	if (pid == hanging_pid) {
		hangs++;
		sem_wait(&hangs_no_more);
	}
	return __real_proc_command(pid, text, bytes, is_cut);
}

bool __wrap_proc_counts_waits(void)
{
	return !waits_are_off && __real_proc_counts_waits();
}

/* Returns the rows of an answer, which the caller deletes. */
static cJSON *rows_of(struct scripted_api *api, const char *query)
{
	char path[128];

	snprintf(path, sizeof(path), "/processes?%s", query);
	const struct reply *reply = api_get(api, path);
	if (reply->status != 200)
		fail_msg("%u: %s", reply->status, reply->body);
	assert_has(reply->head, "\r\nContent-Type: application/json\r\n");
	assert_has(reply->head, "\r\nCache-Control: no-store\r\n");
	cJSON *answer = cJSON_Parse(reply->body);
	cJSON *rows = cJSON_DetachItemFromObjectCaseSensitive(answer, "processes");
	cJSON_Delete(answer);
	assert_non_null(rows);
	return rows;
}

static double number_of(const cJSON *row, const char *key)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(row, key);

	if (!cJSON_IsNumber(value))
		fail_msg("%s: %s", key, cJSON_PrintUnformatted(row));
	return value->valuedouble;
}

/* Returns the row of a process; NULL: there is none. */
static const cJSON *row_of(const cJSON *rows, pid_t pid)
{
	const cJSON *row;

	cJSON_ArrayForEach (row, rows) {
		if (number_of(row, "pid") == pid)
			return row;
	}
	return NULL;
}

static void assert_row(const cJSON *row, const char *key, const char *expected)
{
	char *value = cJSON_PrintUnformatted(cJSON_GetObjectItemCaseSensitive(row, key));

	assert_string_equal(value, expected);
	cJSON_free(value);
}

static void a_process_is_told_while_nothing_is_sampled(void **state)
{
	struct scripted_api *api = *state;
	cJSON *rows = rows_of(api, "sort=pid&limit=2000");
	const cJSON *own = row_of(rows, getpid()), *worker = row_of(rows, api->process.pid);

	assert_non_null(own);
	assert_non_null(worker);
	assert_row(worker, "comm", "\"worker\"");
	assert_row(worker, "probes", "[]");
	assert_row(worker, "covered", "null");
	assert_row(worker, "runtime", "null");
	assert_row(worker, "threads", "1");
	assert_true(number_of(own, "threads") > 1); /* workers */
	assert_true(number_of(own, "rss") > 0);
	assert_true(number_of(own, "start") <= number_of(worker, "start"));
	assert_int_equal((uint64_t)(number_of(worker, "start") * 1000 + 0.5),
			 proc_epoch_ms_of_ticks(api->process.start_ticks));
	assert_non_null(strstr(cJSON_GetObjectItem(own, "command")->valuestring, "api_processes"));
	cJSON_Delete(rows);
}

static void rows_are_in_the_order_that_is_asked_for(void **state)
{
	static const struct {
		const char *query, *key;
		bool rises;
	} orders[] = {{"", "cpu_s", false},
		      {"sort=cpu", "cpu_s", false},
		      {"sort=rss", "rss", false},
		      {"sort=wait", "wait_s", false},
		      {"sort=pid", "pid", true}};

	for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
		cJSON *rows = rows_of(*state, orders[i].query);
		const cJSON *row, *before = rows->child;

		if (strcmp(orders[i].key, "wait_s") != 0 || __real_proc_counts_waits()) {
			cJSON_ArrayForEach (row, rows) {
				double one = number_of(before, orders[i].key);
				double next = number_of(row, orders[i].key);

				assert_true(orders[i].rises ? one <= next : one >= next);
				before = row;
			}
		}
		cJSON_Delete(rows);
	}
}

static void those_beyond_the_limit_are_one_sum(void **state)
{
	struct scripted_api *api = *state;
	const struct reply *reply = api_get(api, "/processes?limit=1");
	_cleanup_free_ char *second = json_at(reply->body, "processes.1");
	_cleanup_free_ char *others = json_at(reply->body, "others.processes");
	_cleanup_free_ char *threads = json_at(reply->body, "others.threads");

	assert_null(second);
	assert_true(atoi(others) >= 1 && atoi(threads) >= atoi(others));
	reply = api_get(api, "/processes?limit=2000");
	_cleanup_free_ char *none = json_at(reply->body, "others");
	assert_null(none);
}

static void what_is_no_order_and_no_limit_is_refused(void **state)
{
	static const char *const limits[] = {"0", "2001", "-1", "x", "", "99999999999999999999"};
	struct scripted_api *api = *state;
	char path[64];

	assert_get_fails(api, "/processes?sort=threads", 400,
			 "sort must be one of cpu, wait, rss, pid");
	assert_get_fails(api, "/processes?sort=", 400, "sort must be one of cpu, wait, rss, pid");
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		snprintf(path, sizeof(path), "/processes?limit=%s", limits[i]);
		assert_get_fails(api, path, 400, "limit must be a number from 1 to 2000");
	}
	assert_has(api_get(api, "/processes?limt=3")->head, "\r\nStackprobe-Warning: ");
	assert_has(api->reply.head, "limit");
	assert_int_equal(api_ask(api, "PUT", "/processes", "{}")->status, 405);
	assert_has(api->reply.head, "\r\nAllow: GET, HEAD\r\n");
	assert_get_fails(api, "/processes/1", 404, "url not found");
}

static void without_waits_their_time_is_null(void **state)
{
	struct scripted_api *api = *state;

	waits_are_off = true;
	cJSON *rows = rows_of(api, "sort=wait&limit=2000");
	const cJSON *row;

	cJSON_ArrayForEach (row, rows)
		assert_row(row, "wait_s", "null");
	assert_non_null(row_of(rows, api->process.pid));
	cJSON_Delete(rows);
}

static bool hangs_again(void *arg)
{
	return hangs > *(unsigned *)arg;
}

static void a_command_line_that_hangs_is_left_out_and_no_other(void **state)
{
	struct scripted_api *api = *state;
	_cleanup_asking_ struct asking asking;
	unsigned before = 0;

	hanging_pid = api->process.pid;
	api_begin_ask(&asking, api, "GET", "/processes?sort=pid&limit=2000", NULL);
	scripted_core_until(&api->core, hangs_again, &before);
	clock_pass(JOB_LIMIT_S);
	struct reply reply;
	api_answer(api, &asking.client, &reply);
	assert_int_equal(reply.status, 200);
	cJSON *answer = cJSON_Parse(reply.body);
	const cJSON *rows = cJSON_GetObjectItemCaseSensitive(answer, "processes");
	assert_row(row_of(rows, api->process.pid), "comm", "\"worker\"");
	assert_row(row_of(rows, api->process.pid), "command", "null");
	assert_non_null(cJSON_GetObjectItem(row_of(rows, getpid()), "command")->valuestring);
	cJSON_Delete(answer);
	cJSON *again = rows_of(api, "sort=pid&limit=2000"); /* it isn't tried for a while */
	assert_row(row_of(again, api->process.pid), "command", "null");
	cJSON_Delete(again);
	assert_int_equal(hangs, 1);
}

/* One reading is under way, and another one waits for it. */
static void who_waits_when_the_daemon_ends_hears_of_it(void **state)
{
	struct scripted_api *api = *state;
	_cleanup_asking_ struct asking asking;
	_cleanup_asking_ struct asking waiting;
	unsigned before = 0;

	hanging_pid = api->process.pid;
	api_begin_ask(&asking, api, "GET", "/processes?sort=pid&limit=2000", NULL);
	scripted_core_until(&api->core, hangs_again, &before);
	api_begin_ask(&waiting, api, "GET", "/processes", NULL);
	assert_int_equal(api_get(api, "/healthz")->status, 200); /* it has come, too */
	sem_post(&hangs_no_more);
	hanging_pid = 0;
	api_restart(api);
	assert_int_equal(asking_status(&waiting, api), 503);
	unsigned status = asking_status(&asking, api);
	assert_true(status == 200 || status == 503); /* it had pieces to do, or not */
}

static void who_is_sampled_has_its_probes(void **state)
{
	struct scripted_api *api = *state;

	api_choose(api, "\"oncpu\",\"offcpu\"", "");
	cJSON *rows = rows_of(api, "sort=pid&limit=2000");
	const cJSON *worker = row_of(rows, api->process.pid), *own = row_of(rows, getpid());

	assert_row(worker, "probes", "[\"oncpu\",\"offcpu\"]");
	assert_row(worker, "covered", "true");
	assert_row(worker, "runtime", "\"native\"");
	assert_row(own, "probes", "[]");
	cJSON_Delete(rows);
}

static int begin(void **state)
{
	hanging_pid = 0;
	hangs = 0;
	waits_are_off = false;
	assert_int_equal(sem_init(&hangs_no_more, 0, 0), 0);
	return api_begin_worker(state);
}

static int end(void **state)
{
	hanging_pid = 0;
	for (int i = 0; i < 8; i++)
		sem_post(&hangs_no_more);
	return api_end(state);
}

#define PROCESSES_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PROCESSES_TEST(a_process_is_told_while_nothing_is_sampled),
		PROCESSES_TEST(rows_are_in_the_order_that_is_asked_for),
		PROCESSES_TEST(those_beyond_the_limit_are_one_sum),
		PROCESSES_TEST(what_is_no_order_and_no_limit_is_refused),
		PROCESSES_TEST(without_waits_their_time_is_null),
		PROCESSES_TEST(a_command_line_that_hangs_is_left_out_and_no_other),
		PROCESSES_TEST(who_waits_when_the_daemon_ends_hears_of_it),
		PROCESSES_TEST(who_is_sampled_has_its_probes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
