// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/request/put_check.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "event/event_check.h"

#define WAIT_S 3

/* A folder; the check owns `root` and `below`. */
struct subject {
	const char *param;
	char *root, *below;
};

/* A check owns all that it uses, for its job may be given up. The waiting thread and the job each
 * hold a reference. */
struct put_check {
	struct job job;
	struct subject subjects[REQUEST_FOLDERS_MAX];
	size_t count;
	struct event_settings events[PROBE_SLOTS_COUNT];
	size_t events_count;
	_Atomic size_t step; /* which folder, or then event, the job looks at */
	struct put_verdict verdict;

	/* Used on the loop's thread only. */
	void (*done)(void *arg, const struct put_verdict *verdict);
	void *arg;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool over;
	unsigned users;
};

static void check_unref(struct put_check *check)
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

static void check_folders(struct put_check *check)
{
	struct put_verdict *verdict = &check->verdict;
	struct why wrong;

	for (size_t i = 0; i < check->count && !verdict->status; i++) {
		const struct subject *subject = &check->subjects[i];

		atomic_store(&check->step, i);
		if (store_check_folder(subject->root, subject->below, &wrong) == 0)
			continue;
		why_set(&verdict->message, "params.%s %.960s", subject->param, wrong.text);
		verdict->status = 400;
	}
}

static void check_events(struct put_check *check)
{
	struct put_verdict *verdict = &check->verdict;
	struct event_text text;
	struct why wrong;

	for (size_t i = 0; i < check->events_count && !verdict->status; i++) {
		const struct event_settings *event = &check->events[i];

		atomic_store(&check->step, check->count + i);
		if (event_text_read(&text, event->what, &wrong) < 0 ||
		    event_check(&text, &wrong, &verdict->detail) == 0)
			continue;
		why_set(&verdict->message, "params.events.%s: %.900s", event->word, wrong.text);
		verdict->status = 400;
	}
}

static void check_run(struct job *job)
{
	struct put_check *check = (struct put_check *)job;

	check_folders(check);
	check_events(check);
	pthread_mutex_lock(&check->lock);
	check->over = true;
	pthread_cond_broadcast(&check->changed);
	pthread_mutex_unlock(&check->lock);
}

/* Explains a check without an answer: of what the job looks at, or would look at first. */
static void explain_hang(const struct put_check *check, struct put_verdict *verdict)
{
	size_t step = atomic_load(&check->step);
	bool of_event = step >= check->count && step - check->count < check->events_count;

	verdict->status = 503;
	verdict->detail.text[0] = '\0';
	why_set(&verdict->message,
		"params.%s%s can't be used: no answer in time from the file system",
		of_event ? "events." : "",
		of_event	      ? check->events[step - check->count].word
		: step < check->count ? check->subjects[step].param
				      : "events");
}

static void check_done(struct job *job, bool finished)
{
	struct put_check *check = (struct put_check *)job;
	struct put_verdict hung;

	if (!check->done)
		return;
	if (!finished)
		explain_hang(check, &hung);
	check->done(check->arg, finished ? &check->verdict : &hung);
}

static void check_free(struct job *job)
{
	check_unref((struct put_check *)job);
}

static int add_subject(struct put_check *check, const struct put_question *question,
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

/* Copies the events that the params name. */
static void copy_events(struct put_check *check, const struct put_question *question)
{
	for (unsigned i = 0; i < question->events->slots; i++) {
		const struct event_settings *event = question->events->at(question->params, i);

		if (event->word[0])
			check->events[check->events_count++] = *event;
	}
}

static int check_new(struct put_check **ret, const struct put_question *question)
{
	struct put_check *check = calloc(1, sizeof(*check));
	int r = 0;

	if (!check)
		return -ENOMEM;
	check->job = (struct job){.run = check_run, .done = check_done, .free = check_free};
	check->users = 1;
	pthread_mutex_init(&check->lock, NULL);
	pthread_cond_init(&check->changed, NULL);
	for (size_t i = 0; r == 0 && i < question->folders->count; i++)
		r = add_subject(check, question, question->folders->params[i]);
	if (question->folders->has_events)
		copy_events(check, question);
	if (r < 0)
		check_unref(check);
	else
		*ret = check;
	return r;
}

int put_check_begin(struct put_check **ret, const struct put_question *question,
		    void (*done)(void *arg, const struct put_verdict *verdict), void *arg)
{
	struct put_check *check;
	int r = check_new(&check, question);

	if (r < 0)
		return r;
	check->done = done;
	check->arg = arg;
	*ret = check;
	worker_submit(question->worker, &check->job);
	return 0;
}

void put_check_forget(struct put_check *check)
{
	check->done = NULL;
}

void put_check_wait(const struct put_question *question, struct put_verdict *verdict)
{
	struct put_check *check;
	struct timespec end;
	int r = check_new(&check, question);

	*verdict = (struct put_verdict){.status = 503, .message = {"no memory"}};
	if (r < 0)
		return;
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
		*verdict = check->verdict;
	else
		explain_hang(check, verdict);
	check_unref(check);
}
