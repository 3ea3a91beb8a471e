// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/runtime.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "runtime/interpreter.h"
#include "runtime/jvm.h"
#include "runtime/made_code.h"

const struct runtime_kind *const runtime_kinds[RUNTIMES] = {
	[RUNTIME_PYTHON] = &interpreter_kind,
	[RUNTIME_JAVA] = &jvm_kind,
	[RUNTIME_MADE] = &made_code_kind,
};

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

struct runtime *runtime_ref(struct runtime *runtime)
{
	if (runtime)
		runtime->refs++;
	return runtime;
}

void runtime_release(const struct runtime_kind *kind, struct runtime *runtime)
{
	if (runtime)
		kind->unref(runtime);
}

bool runtime_is_passing(const struct runtime_kind *kind, const struct runtime *known)
{
	if (!known->error)
		return kind->is_incomplete && kind->is_incomplete(known);
	return known->error != -ENOTSUP && known->error != -ETIMEDOUT;
}

bool runtime_is_unfinished(const struct runtime_kind *kind, const struct runtime *known)
{
	if (!known->error)
		return kind->is_unfinished && kind->is_unfinished(known);
	return kind->begins_late && known->error == -EAGAIN;
}

bool runtime_is_worse(const struct runtime *answer, const struct runtime *known)
{
	return known && !known->error && answer->error &&
	       runtime_is_at(known, answer->file, answer->bias);
}

bool runtime_is_same(const struct runtime_kind *kind, const struct runtime *known,
		     const struct runtime_place *place)
{
	return runtime_is_at(known, place->file, place->bias) &&
	       kind->is_found(known, place->found);
}

struct runtime_place runtime_place_of(const struct runtime_kind *kind, const struct runtime *known)
{
	const char *found = (const char *)known + kind->found_at;

	return (struct runtime_place){found, known->file, known->bias};
}

/* ---- asking ---- */

struct runtime_job {
	struct job job;
	struct runtime_question question; /* question_run() changes only question.memory */
	struct runtime *answer;	 /* belongs to question_run() until question_run() has returned */
	struct runtime *hanging; /* the answer if the job was given up: -ETIMEDOUT, or -EBUSY */
};

static struct runtime *new_answer(const struct runtime_question *question)
{
	const struct runtime_kind *kind = question->kind;
	struct runtime *answer = calloc(1, kind->bytes);

	if (!answer)
		return NULL;
	memcpy((char *)answer + kind->found_at, question->place.found, kind->found_bytes);
	answer->refs = 1;
	answer->file = symbol_file_ref(question->place.file);
	answer->bias = question->place.bias;
	answer->whose = question->whose;
	answer->error = -ETIMEDOUT;
	return answer;
}

static void question_run(struct job *job)
{
	struct runtime_job *mine = (struct runtime_job *)job;
	const struct process_memory memory = job_memory_reader(&mine->question.memory);

	mine->question.kind->ask(mine->question.pid, &memory, mine->answer);
	job_memory_close(&mine->question.memory);
}

static void question_done(struct job *job, bool finished)
{
	struct runtime_job *mine = (struct runtime_job *)job;

	if (job->end != JOB_HANGS) /* else a target is never read again */
		mine->hanging->error = -EBUSY;
	mine->question.done(mine->question.arg, &mine->question,
			    finished ? TAKE_PTR(mine->answer) : TAKE_PTR(mine->hanging),
			    finished ? &mine->question.memory : NULL);
}

static void free_question(struct job *job)
{
	struct runtime_job *mine = (struct runtime_job *)job;

	runtime_release(mine->question.kind, mine->answer);
	runtime_release(mine->question.kind, mine->hanging);
	job_memory_done(&mine->question.memory);
	free(mine);
}

int runtime_ask(struct worker *worker, const struct runtime_question *question)
{
	struct runtime_job *mine = calloc(1, sizeof(*mine));

	if (!mine) {
		struct job_memory memory = question->memory;

		job_memory_done(&memory);
		return -ENOMEM;
	}
	mine->job = (struct job){.run = question_run,
				 .done = question_done,
				 .free = free_question,
				 .whose = question->whose,
				 .limit_ns = question->kind->limit_ns};
	mine->question = *question;
	mine->answer = new_answer(question);
	mine->hanging = new_answer(question);
	if (!mine->answer || !mine->hanging) {
		free_question(&mine->job);
		return -ENOMEM;
	}
	worker_submit(worker, &mine->job);
	return 0;
}
