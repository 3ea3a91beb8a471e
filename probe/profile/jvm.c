// SPDX-License-Identifier: GPL-2.0-only
#include "profile/jvm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct jvm *jvm_ref(struct jvm *jvm)
{
	if (jvm)
		jvm->refs++;
	return jvm;
}

void jvm_unref(struct jvm *jvm)
{
	if (!jvm || --jvm->refs)
		return;
	symbol_file_unref(jvm->file);
	free(jvm);
}

bool jvm_is_supported(const struct jvm *jvm)
{
	return jvm && jvm->error == 0;
}

bool jvm_owns(const struct jvm *jvm, const struct code *code)
{
	return jvm && code->place == CODE_FILE && code->file == jvm->file;
}

void jvm_version(const struct jvm *jvm, char *to, size_t bytes)
{
	const struct jvm_layout *layout = &jvm->layout;

	if (!layout->version)
		snprintf(to, bytes, "%s", "");
	else if (layout->version == 8)
		snprintf(to, bytes, "8u%u", layout->patch);
	else
		snprintf(to, bytes, "%u.%u.%u", layout->version, layout->minor, layout->patch);
}

void jvm_problem(const struct jvm *jvm, char *to, size_t bytes)
{
	switch (jvm->error) {
	case 0:
		snprintf(to, bytes, "%s", "");
		break;
	case -EAGAIN:
		snprintf(to, bytes, "the VM has not begun yet");
		break;
	case -ENOTSUP:
		snprintf(to, bytes, "unsupported version (%s)",
			 jvm->missing ? jvm->missing : "its tables");
		break;
	case -EBADMSG:
		snprintf(to, bytes, "what it says of its layout makes no sense");
		break;
	case -ETIMEDOUT:
		snprintf(to, bytes, "reading its memory took too long");
		break;
	default:
		snprintf(to, bytes, "its memory can't be read");
	}
}

/* ---- asking ---- */

struct asking {
	struct job job;
	struct jvm_question question; /* run() only reads it */
	int error;
	const char *missing;
	struct jvm_layout layout;
};

static void run(struct job *job)
{
	struct asking *mine = (struct asking *)job;
	const struct jvm_question *question = &mine->question;

	mine->error = hotspot_of_process(question->pid, &question->found, question->bias,
					 &mine->layout, &mine->missing);
}

static void done(struct job *job, bool finished)
{
	struct asking *mine = (struct asking *)job;
	const struct jvm_question *question = &mine->question;
	struct jvm *answer = calloc(1, sizeof(*answer));

	if (answer) {
		answer->refs = 1;
		answer->file = symbol_file_ref(question->file);
		answer->bias = question->bias;
		answer->found = question->found;
		answer->error = -ETIMEDOUT;
	}
	if (answer && finished) {
		answer->error = mine->error;
		answer->missing = mine->missing;
		answer->layout = mine->layout;
	}
	question->done(question->arg, question, answer);
}

static void free_asking(struct job *job)
{
	struct asking *mine = (struct asking *)job;

	symbol_file_unref(mine->question.file);
	free(mine);
}

int jvm_ask(struct worker *worker, const struct jvm_question *question)
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
