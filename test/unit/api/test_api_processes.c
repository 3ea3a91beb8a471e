// SPDX-License-Identifier: GPL-2.0-or-later
/* GET /processes: what runs, read from /proc by a worker. */
#include "unit/lib/clock_ahead.h"
#include "unit/lib/scripted_api.h"

#include <semaphore.h>

#define JOB_LIMIT_S    4  /* longer than a job on the worker may take */
#define LEFT_ALONE_S   61 /* longer than a command line that hung isn't tried again */
#define STRANGERS      9
#define STRANGER_UID   543210
#define HANGING_MAX    7 /* in all */
#define HANGING_BY_ONE 2 /* of a user */

/* Whose command line isn't read in time, and until when. */
static atomic_int hanging_pid;
static atomic_uint hangs, returned;
static sem_t hangs_no_more;
static atomic_bool waits_are_off;
/* Whose command lines hang as well: processes of one user, or each of another. */
static struct process strangers[STRANGERS];
static bool strangers_differ;
/* Who has more threads than may be read, and how many may. */
static atomic_int crowded_pid;
static atomic_size_t crowded_max;

int __real_proc_command(pid_t pid, char *text, size_t bytes, bool *is_cut);
int __wrap_proc_command(pid_t pid, char *text, size_t bytes, bool *is_cut);
bool __real_proc_counts_waits(void);
bool __wrap_proc_counts_waits(void);
int __real_proc_uid(pid_t pid, uid_t *uid);
int __wrap_proc_uid(pid_t pid, uid_t *uid);
int __real_proc_wait_ns(pid_t pid, size_t *threads_max, uint64_t *wait_ns);
int __wrap_proc_wait_ns(pid_t pid, size_t *threads_max, uint64_t *wait_ns);

/* Returns a stranger's number, from 1 on; 0: it is none. */
static unsigned stranger_of(pid_t pid)
{
	for (unsigned i = 0; i < STRANGERS; i++) {
		if (strangers[i].pid == pid)
			return i + 1;
	}
	return 0;
}

int __wrap_proc_command(pid_t pid, char *text, size_t bytes, bool *is_cut)
{
	if (pid == hanging_pid || stranger_of(pid)) {
		hangs++;
		sem_wait(&hangs_no_more);
		returned++;
	}
	return __real_proc_command(pid, text, bytes, is_cut);
}

int __wrap_proc_uid(pid_t pid, uid_t *uid)
{
	unsigned stranger = stranger_of(pid);

	if (!stranger)
		return __real_proc_uid(pid, uid);
	*uid = STRANGER_UID + (strangers_differ ? stranger : 0);
	return 0;
}

int __wrap_proc_wait_ns(pid_t pid, size_t *threads_max, uint64_t *wait_ns)
{
	if (pid != crowded_pid)
		return __real_proc_wait_ns(pid, threads_max, wait_ns);
	crowded_max = *threads_max;
	*threads_max = 0;
	return -E2BIG;
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

static void threads_of_one_process_leave_those_of_others(void **state)
{
	struct scripted_api *api = *state;
	const cJSON *row;

	if (!__real_proc_counts_waits())
		skip();
	crowded_pid = getpid();
	cJSON *rows = rows_of(api, "sort=wait&limit=2000");
	assert_row(row_of(rows, getpid()), "wait_s", "null");
	cJSON_ArrayForEach (row, rows) {
		if (number_of(row, "pid") != getpid())
			assert_true(number_of(row, "wait_s") >= 0);
	}
	assert_true(crowded_max > 0 && crowded_max <= 4096);
	cJSON_Delete(rows);
}

/* ---- command lines that hang ---- */

static bool hangs_again(void *arg)
{
	return hangs > *(unsigned *)arg;
}

struct wait_for_hang {
	struct http_client *client;
	unsigned before;
};

static bool is_answered_or_hangs(void *arg)
{
	struct wait_for_hang *wait = arg;

	return hangs > wait->before || http_is_answered(wait->client);
}

/* Returns the rows of all processes, which the caller deletes. The time of a job passes for each
 * command line that hangs. */
static cJSON *rows_beside_hanging(struct scripted_api *api)
{
	_cleanup_asking_ struct asking asking;
	struct wait_for_hang wait = {.client = &asking.client, .before = hangs};
	struct reply reply;

	api_begin_ask(&asking, api, "GET", "/processes?sort=pid&limit=2000", NULL);
	for (;;) {
		scripted_core_until(&api->core, is_answered_or_hangs, &wait);
		if (hangs == wait.before)
			break;
		wait.before = hangs;
		clock_pass(JOB_LIMIT_S);
	}
	http_reply(&asking.client, &reply);
	assert_int_equal(reply.status, 200);
	cJSON *answer = cJSON_Parse(reply.body);
	cJSON *rows = cJSON_DetachItemFromObjectCaseSensitive(answer, "processes");
	cJSON_Delete(answer);
	return rows;
}

/* Asks once. Returns whether the process has a command line. */
static bool has_command(struct scripted_api *api, pid_t pid)
{
	cJSON *rows = rows_beside_hanging(api);
	bool has = cJSON_IsString(cJSON_GetObjectItemCaseSensitive(row_of(rows, pid), "command"));

	cJSON_Delete(rows);
	return has;
}

/* Asks again and again until the process has a command line. */
static void assert_command_comes(struct scripted_api *api, pid_t pid)
{
	for (int i = 0; i < 1000; i++) {
		if (has_command(api, pid))
			return;
		usleep(1000);
	}
	fail();
}

static void begin_strangers(bool differ)
{
	strangers_differ = differ;
	for (unsigned i = 0; i < STRANGERS; i++)
		process_begin(&strangers[i], "stranger");
}

static void let_all_return(void)
{
	for (unsigned i = returned; i < hangs; i++)
		sem_post(&hangs_no_more);
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

static void a_command_line_that_still_hangs_is_not_tried_again(void **state)
{
	struct scripted_api *api = *state;

	hanging_pid = api->process.pid;
	for (int i = 0; i < 3; i++) {
		cJSON *rows = rows_beside_hanging(api);
		assert_row(row_of(rows, api->process.pid), "command", "null");
		assert_true(cJSON_IsString(cJSON_GetObjectItem(row_of(rows, getpid()), "command")));
		assert_int_equal(hangs, 1);
		cJSON_Delete(rows);
		clock_pass(LEFT_ALONE_S);
	}
	hanging_pid = 0;
	let_all_return();
	assert_command_comes(api, api->process.pid);
}

static void a_user_whose_command_lines_hang_costs_others_none_of_theirs(void **state)
{
	struct scripted_api *api = *state;

	begin_strangers(false);
	for (int i = 0; i < 3; i++) {
		cJSON *rows = rows_beside_hanging(api);
		for (int stranger = 0; stranger < STRANGERS; stranger++)
			assert_row(row_of(rows, strangers[stranger].pid), "command", "null");
		assert_true(cJSON_IsString(cJSON_GetObjectItem(row_of(rows, getpid()), "command")));
		assert_int_equal(hangs, HANGING_BY_ONE);
		cJSON_Delete(rows);
		clock_pass(LEFT_ALONE_S);
	}
}

/* Those that return after their time don't hang any more, yet each has cost its time. */
static void a_user_whose_command_lines_have_hung_is_left_alone_for_a_while(void **state)
{
	struct scripted_api *api = *state;

	begin_strangers(false);
	for (int i = 0; i < 3; i++) {
		assert_true(has_command(api, getpid()));
		let_all_return();
		assert_int_equal(hangs, HANGING_BY_ONE);
	}
}

static void only_so_many_command_lines_hang(void **state)
{
	static const unsigned in_all[] = {3, 6, HANGING_MAX, HANGING_MAX};
	struct scripted_api *api = *state;

	begin_strangers(true);
	for (size_t i = 0; i < ARRAY_SIZE(in_all); i++) {
		assert_false(has_command(api, getpid()));
		assert_int_equal(hangs, in_all[i]);
		clock_pass(LEFT_ALONE_S);
	}
	for (int i = 0; i < STRANGERS; i++)
		process_end(&strangers[i]);
	let_all_return();
	assert_command_comes(api, getpid());
}

static void note_run(struct job *job)
{
	(void)job;
}

static bool job_has_ended;

static void note_end(struct job *job, bool finished)
{
	(void)job;
	job_has_ended = finished;
}

static void jobs_of_the_daemon_do_not_wait_for_a_command_line(void **state)
{
	static struct job job = {.run = note_run, .done = note_end};
	struct scripted_api *api = *state;
	_cleanup_asking_ struct asking asking;
	unsigned before = 0;

	hanging_pid = api->process.pid;
	api_begin_ask(&asking, api, "GET", "/processes", NULL);
	scripted_core_until(&api->core, hangs_again, &before);
	worker_submit(api->core.core.names, &job);
	clock_pass(1); /* less than a job may take */
	scripted_core_until(&api->core, scripted_is_set, &job_has_ended);
	assert_int_equal(worker_given_up(api->core.core.names), 0); /* it hangs still */
	clock_pass(JOB_LIMIT_S);
	assert_int_equal(asking_status(&asking, api), 200);
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
	crowded_pid = 0;
	hangs = 0;
	returned = 0;
	waits_are_off = false;
	assert_int_equal(sem_init(&hangs_no_more, 0, 0), 0);
	return api_begin_worker(state);
}

static int end(void **state)
{
	hanging_pid = 0;
	for (int i = 0; i < STRANGERS; i++)
		process_end(&strangers[i]);
	for (int i = 0; i < 8; i++)
		sem_post(&hangs_no_more);
	while (returned < hangs)
		usleep(1000);
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
		PROCESSES_TEST(threads_of_one_process_leave_those_of_others),
		PROCESSES_TEST(a_command_line_that_hangs_is_left_out_and_no_other),
		PROCESSES_TEST(a_command_line_that_still_hangs_is_not_tried_again),
		PROCESSES_TEST(a_user_whose_command_lines_hang_costs_others_none_of_theirs),
		PROCESSES_TEST(a_user_whose_command_lines_have_hung_is_left_alone_for_a_while),
		PROCESSES_TEST(only_so_many_command_lines_hang),
		PROCESSES_TEST(jobs_of_the_daemon_do_not_wait_for_a_command_line),
		PROCESSES_TEST(who_waits_when_the_daemon_ends_hears_of_it),
		PROCESSES_TEST(who_is_sampled_has_its_probes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
