// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/runtime.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

bool runtime_unref(struct runtime *runtime)
{
	if (--runtime->refs)
		return false;
	symbol_file_unref(runtime->file);
	return true;
}

bool runtime_is_at(const struct runtime *runtime, const struct symbol_file *file, uint64_t bias)
{
	return runtime && runtime->file == file && runtime->bias == bias;
}

bool runtime_owns(const struct runtime *runtime, const struct code *code)
{
	return runtime && code->place == CODE_FILE && code->file == runtime->file;
}

/* ---- asking ---- */

struct asking {
	struct job job;
	struct runtime_question question; /* run() changes only question.memory */
	struct runtime *answer;		  /* belongs to run() until run() has returned */
	struct runtime *hanging;	  /* the answer (-ETIMEDOUT) if run() hangs */
};

static struct runtime *copy_about(const struct runtime_question *question)
{
	struct runtime *copy = malloc(question->kind->bytes);

	if (!copy)
		return NULL;
	memcpy(copy, question->about, question->kind->bytes);
	copy->refs = 1;
	symbol_file_ref(copy->file);
	copy->error = -ETIMEDOUT;
	return copy;
}

static void run(struct job *job)
{
	struct asking *mine = (struct asking *)job;
	const struct process_memory memory = job_memory_reader(&mine->question.memory);

	mine->question.kind->ask(mine->question.pid, &memory, mine->answer);
	job_memory_close(&mine->question.memory);
}

static void done(struct job *job, bool finished)
{
	struct asking *mine = (struct asking *)job;

	mine->question.done(mine->question.arg, &mine->question,
			    finished ? TAKE_PTR(mine->answer) : TAKE_PTR(mine->hanging),
			    finished ? &mine->question.memory : NULL);
}

static void free_asking(struct job *job)
{
	struct asking *mine = (struct asking *)job;

	if (mine->answer)
		mine->question.kind->unref(mine->answer);
	if (mine->hanging)
		mine->question.kind->unref(mine->hanging);
	job_memory_done(&mine->question.memory);
	free(mine);
}

int runtime_ask(struct worker *worker, const struct runtime_question *question)
{
	struct asking *mine = calloc(1, sizeof(*mine));

	if (!mine) {
		struct job_memory memory = question->memory;

		job_memory_done(&memory);
		return -ENOMEM;
	}
	mine->job = (struct job){
		.run = run, .done = done, .free = free_asking, .whose = question->whose};
	mine->question = *question;
	mine->question.about = NULL;
	mine->answer = copy_about(question);
	mine->hanging = copy_about(question);
	if (!mine->answer || !mine->hanging) {
		free_asking(&mine->job);
		return -ENOMEM;
	}
	worker_submit(worker, &mine->job);
	return 0;
}
