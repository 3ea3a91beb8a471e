// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/request/folder_check.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"

#define WAIT_S 3

/* A folder; the check owns `root` and `below`. */
struct subject {
	const char *param;
	char *root, *below;
};

/* A check owns all that it uses, for its job may be given up. The waiting thread and the job each
 * hold a reference. */
struct folder_check {
	struct job job;
	struct subject subjects[REQUEST_FOLDERS_MAX];
	size_t count;
	unsigned status;
	struct why why;

	/* Used on the loop's thread only. */
	void (*done)(void *arg, unsigned status, const char *message);
	void *arg;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool over;
	unsigned users;
};

static void check_unref(struct folder_check *check)
{
	pthread_mutex_lock(&check->lock);
	unsigned left = --check->users;
	pthread_mutex_unlock(&check->lock);
	if (left)
		return;
	for (size_t i = 0; i < check->count; i++) {
		free(check->subjects[i].root);
		free(check->subjects[i].below);
	}
	pthread_cond_destroy(&check->changed);
	pthread_mutex_destroy(&check->lock);
	free(check);
}

static void check_run(struct job *job)
{
	struct folder_check *check = (struct folder_check *)job;
	struct why wrong;

	for (size_t i = 0; i < check->count && !check->status; i++) {
		const struct subject *subject = &check->subjects[i];

		if (store_check_folder(subject->root, subject->below, &wrong) == 0)
			continue;
		why_set(&check->why, "params.%s %.960s", subject->param, wrong.text);
		check->status = 400;
	}
	pthread_mutex_lock(&check->lock);
	check->over = true;
	pthread_cond_broadcast(&check->changed);
	pthread_mutex_unlock(&check->lock);
}

/* Explains a check without an answer. The job may be going on, so it isn't known which folder
 * hangs. */
static void explain_hang(const struct folder_check *check, struct why *why)
{
	why_set(why, "params.%s%s%s can't be used: no answer in time from the file system",
		check->subjects[0].param, check->count > 1 ? " or params." : "",
		check->count > 1 ? check->subjects[1].param : "");
}

static void check_done(struct job *job, bool finished)
{
	struct folder_check *check = (struct folder_check *)job;
	struct why hung;

	if (!check->done)
		return;
	if (finished) {
		check->done(check->arg, check->status, check->why.text);
		return;
	}
	explain_hang(check, &hung);
	check->done(check->arg, 503, hung.text);
}

static void check_free(struct job *job)
{
	check_unref((struct folder_check *)job);
}

static int add_subject(struct folder_check *check, const struct folder_question *question,
		       const struct param *param)
{
	struct subject *subject = &check->subjects[check->count++];
	char root[STORE_PATH_MAX];
	const char *below;
	int r = store_split_path(question->roots, param_text(param, question->params), root,
				 &below);

	if (r < 0)
		return r;
	*subject = (struct subject){param->name, strdup(root), strdup(below)};
	return subject->root && subject->below ? 0 : -ENOMEM;
}

static int check_new(struct folder_check **ret, const struct folder_question *question)
{
	struct folder_check *check = calloc(1, sizeof(*check));
	int r = 0;

	if (!check)
		return -ENOMEM;
	check->job = (struct job){.run = check_run, .done = check_done, .free = check_free};
	check->users = 1;
	pthread_mutex_init(&check->lock, NULL);
	pthread_cond_init(&check->changed, NULL);
	for (size_t i = 0; r == 0 && i < question->folders->count; i++)
		r = add_subject(check, question, question->folders->params[i]);
	if (r < 0)
		check_unref(check);
	else
		*ret = check;
	return r;
}

int folder_check_begin(struct folder_check **ret, const struct folder_question *question,
		       void (*done)(void *arg, unsigned status, const char *message), void *arg)
{
	struct folder_check *check;
	int r = check_new(&check, question);

	if (r < 0)
		return r;
	check->done = done;
	check->arg = arg;
	*ret = check;
	worker_submit(question->worker, &check->job);
	return 0;
}

void folder_check_forget(struct folder_check *check)
{
	check->done = NULL;
}

unsigned folder_check_wait(const struct folder_question *question, struct why *why)
{
	struct folder_check *check;
	struct timespec end;
	int r = check_new(&check, question);

	why_set(why, "no memory");
	if (r < 0)
		return 503;
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += WAIT_S;
	check->users++;
	worker_submit(question->worker, &check->job);
	pthread_mutex_lock(&check->lock);
	while (!check->over && pthread_cond_timedwait(&check->changed, &check->lock, &end) == 0)
		;
	bool over = check->over;
	pthread_mutex_unlock(&check->lock);
	if (over)
		*why = check->why;
	else
		explain_hang(check, why);
	unsigned status = over ? check->status : 503;
	check_unref(check);
	return status;
}
