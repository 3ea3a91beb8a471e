// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Cache of the last answers, a hash table by address, as a window's stacks have few addresses. An
 * answer for one begin also holds for later begins, up to the time when the code may have been
 * unloaded. The cache is emptied when the file has something new.
 */
#include <stdlib.h>
#include <string.h>

#include "java/files/jvmfile_state.h"

#define ANSWERS_BITS 10

static struct jvmfile_answer *answer_of(const struct jvmfile *file, uint64_t address)
{
	return &file->answers[address * UINT64_C(0x9e3779b97f4a7c15) >> (64 - ANSWERS_BITS)];
}

const struct jvmfile_answer *jvmfile_recall(const struct jvmfile *file, uint64_t address,
					    uint64_t from_ns, uint64_t until_ns)
{
	if (!file->answers)
		return NULL;
	const struct jvmfile_answer *answer = answer_of(file, address);
	bool is_it = answer->found.number && answer->address == address &&
		     answer->until_ns == until_ns && from_ns >= answer->from_ns &&
		     from_ns <= answer->to_ns;
	return is_it ? answer : NULL;
}

void jvmfile_remember(struct jvmfile *file, const struct jvmfile_answer *answer)
{
	if (!file->answers)
		file->answers = calloc(1U << ANSWERS_BITS, sizeof(*file->answers));
	if (file->answers) /* without memory: search again the next time */
		*answer_of(file, answer->address) = *answer;
}

void jvmfile_forget_answers(struct jvmfile *file)
{
	if (file->answers)
		memset(file->answers, 0, sizeof(*file->answers) << ANSWERS_BITS);
}
