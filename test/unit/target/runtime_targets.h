/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Targets with a runtime of the test's, a CPython, a Java VM, or code that it tells debuggers of: a
 * mapped file has it, and the test answers for the process. Linked with __wrap_table_python(),
 * __wrap_table_hotspot(), __wrap_table_jit(), __wrap_runtime_ask().
 */
#pragma once

#include "unit/target/target_life.h"

#include "runtime/interpreter.h"
#include "runtime/jvm.h"
#include "runtime/made_code.h"

#define BIAS	   0x1000
#define HEAP	   0x100000000000 /* where nothing is mapped */
#define UNANSWERED 4

static bool has_python, has_java, has_made;
static struct cpython_file made_python;
static struct hotspot_file made_java;

/* Questions, in order; those that weren't answered have an answer to be filled in. */
static struct {
	struct runtime_question question;
	struct runtime *answer;
} asked[UNANSWERED];
static unsigned questions, answered;
static int ask_error; /* of asking */

const struct cpython_file *__wrap_table_python(const struct table *table,
					       const struct symbol_file *file, uint64_t file_offset,
					       const struct span *span, uint64_t *bias);
const struct hotspot_file *__wrap_table_hotspot(const struct table *table, uint64_t file_offset,
						const struct span *span, uint64_t *bias);
const struct jit_place *__wrap_table_jit(const struct table *table, uint64_t file_offset,
					 const struct span *span, uint64_t *bias);
int __wrap_runtime_ask(struct worker *worker, const struct runtime_question *question);

const struct cpython_file *__wrap_table_python(const struct table *table,
					       const struct symbol_file *file, uint64_t file_offset,
					       const struct span *span, uint64_t *bias)
{
	(void)table, (void)file, (void)file_offset, (void)span;
	*bias = BIAS;
	return has_python ? &made_python : NULL;
}

const struct hotspot_file *__wrap_table_hotspot(const struct table *table, uint64_t file_offset,
						const struct span *span, uint64_t *bias)
{
	(void)table, (void)file_offset, (void)span;
	*bias = BIAS;
	return has_java ? &made_java : NULL;
}

const struct jit_place *__wrap_table_jit(const struct table *table, uint64_t file_offset,
					 const struct span *span, uint64_t *bias)
{
	static const struct jit_place place = {.descriptor = 0x30};

	(void)table, (void)file_offset, (void)span;
	*bias = BIAS;
	return has_made ? &place : NULL;
}

int __wrap_runtime_ask(struct worker *worker, const struct runtime_question *question)
{
	struct job_memory memory = question->memory;
	const struct runtime_kind *kind = question->kind;

	(void)worker;
	if (ask_error) {
		job_memory_done(&memory);
		return ask_error;
	}
	assert_true(questions - answered < UNANSWERED);
	struct runtime *answer = calloc(1, kind->bytes);

	assert_non_null(answer);
	memcpy((char *)answer + kind->found_at, question->place.found, kind->found_bytes);
	answer->refs = 1;
	answer->file = symbol_file_ref(question->place.file);
	answer->bias = question->place.bias;
	asked[questions % UNANSWERED].question = *question;
	asked[questions++ % UNANSWERED].answer = answer;
	return 0;
}

/* Returns the answer to the oldest question, to be filled in before answer(). */
static inline struct runtime *next_answer(void)
{
	assert_true(answered < questions);
	return asked[answered % UNANSWERED].answer;
}

/* Answers the oldest question. */
static inline void answer(int error)
{
	struct runtime *runtime = next_answer();
	struct runtime_question *question = &asked[answered % UNANSWERED].question;
	struct job_memory *memory = &question->memory;

	runtime->error = error;
	if (question->kind == &jvm_kind && !error)
		((struct jvm *)runtime)->layout.walk.heaps[0] =
			(struct hotspot_heap){.low = HEAP, .high = HEAP + 4096};
	answered++;
	question->done(question->arg, question, runtime, error == -ETIMEDOUT ? NULL : memory);
	job_memory_done(memory);
}

static inline void runtime_begin(bool python, bool java)
{
	has_python = python;
	has_java = java;
	has_made = false;
	made_python = (struct cpython_file){.version = 0x030b07f0, .runtime = 0x10};
	made_java = (struct hotspot_file){.symbols = {0x20}};
	questions = answered = 0;
	ask_error = 0;
	scene_begin_with(SCENE_TARGETS, SCENE_TARGETS);
}

/* Drops the questions that nobody answered. */
static inline void runtime_end(void)
{
	for (; answered < questions; answered++) {
		struct runtime_question *question = &asked[answered % UNANSWERED].question;

		question->kind->unref(asked[answered % UNANSWERED].answer);
		job_memory_done(&question->memory);
	}
	scene_end(NULL);
}

static bool was_asked(void *arg)
{
	const unsigned *count = arg;

	return questions >= *count;
}

static inline void until_asked(unsigned count)
{
	scene_until(was_asked, &count);
	assert_int_equal(questions, count);
}
