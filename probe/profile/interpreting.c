// SPDX-License-Identifier: GPL-2.0-only
#include "profile/interpreting.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "profile/python_script.h"

struct asking {
	struct job job;
	struct interpreting question; /* run() only reads it */
	int error;
	struct python_layout layout;
	struct pypath_script script;
	bool script_may_change;
};

static void run(struct job *job)
{
	struct asking *mine = (struct asking *)job;
	const struct interpreting *question = &mine->question;

	mine->error =
		cpython_of_process(question->pid, &question->found, question->bias, &mine->layout);
	mine->script_may_change = python_script(question->pid, &mine->script) == -EAGAIN;
}

static void done(struct job *job, bool finished)
{
	struct asking *mine = (struct asking *)job;
	const struct interpreting *question = &mine->question;
	struct interpreter *answer = calloc(1, sizeof(*answer));

	if (answer) {
		answer->refs = 1;
		answer->file = symbol_file_ref(question->file);
		answer->bias = question->bias;
		answer->found = question->found;
		answer->error = -ETIMEDOUT;
	}
	if (answer && finished) {
		answer->error = mine->error;
		answer->layout = mine->layout;
		answer->script = mine->script;
		answer->script_may_change = mine->script_may_change;
		mine->script = (struct pypath_script){0};
	}
	question->done(question->arg, question, answer);
}

static void free_asking(struct job *job)
{
	struct asking *mine = (struct asking *)job;

	symbol_file_unref(mine->question.file);
	python_script_done(&mine->script);
	free(mine);
}

int interpreter_ask(struct worker *worker, const struct interpreting *question)
{
	struct asking *mine = calloc(1, sizeof(*mine));

	if (!mine)
		return -ENOMEM;
	mine->job = (struct job){.run = run, .done = done, .free = free_asking};
	mine->question = *question;
	symbol_file_ref(question->file);
	worker_submit(worker, &mine->job);
	return 0;
}
