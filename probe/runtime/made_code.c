// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/made_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define GONE_MAX     64		      /* each frame of made code may look at all */
#define GONE_KEPT_NS (600 * NS_PER_S) /* no window is that old when its stacks get names */
#define REST_NS	     (10 * NS_PER_MS) /* between two looks, and … */
#define REST_TIMES   50		      /* … times the CPU time of the last one */
#define LIMIT_NS     (8 * NS_PER_S)   /* of a look's time while all CPUs are busy */

/* An object that was in the list in looks from `from_ns` to `seen_ns` and wasn't in the one of
 * `until_ns`. */
struct made_gone {
	struct jit_object *object; /* with a reference */
	uint64_t from_ns, seen_ns, until_ns;
};

/* ---- one look after the other ---- */

static void look_at_code(struct made_code *code, const struct process_memory *memory,
			 uint64_t descriptor)
{
	uint64_t known = code->found.known;

	code->is_unchanged = known && jit_code_sum(memory, descriptor) == known;
	code->runtime.error = 0;
	if (code->is_unchanged)
		return;
	code->runtime.error = jit_code_read(&code->code, memory, descriptor, code->runtime.whose);
	code->found.known = code->code.sum; /* of what was read, not of what was there before */
	if (code->runtime.error)
		return;
	code->from_ns = calloc(code->code.count + 1, sizeof(*code->from_ns));
	code->runtime.error = code->from_ns ? 0 : -ENOMEM;
}

static void ask_code(pid_t pid, const struct process_memory *memory, struct runtime *runtime)
{
	struct made_code *code = (struct made_code *)runtime;
	uint64_t before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	(void)pid;
	code->read_ns = clock_ns(CLOCK_MONOTONIC);
	look_at_code(code, memory, code->found.descriptor + runtime->bias);
	code->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
}

static void add_gone(struct made_code *code, const struct made_gone *gone)
{
	bool is_old = gone->until_ns + GONE_KEPT_NS < code->read_ns;

	if (!code->gone || code->gone_count == GONE_MAX || is_old) {
		if (gone->until_ns > code->forgot_ns)
			code->forgot_ns = gone->until_ns;
		return;
	}
	code->gone[code->gone_count] = *gone;
	jit_object_ref(code->gone[code->gone_count++].object);
}

static void follow_known(struct made_code *code, const struct made_code *known)
{
	code->gone = calloc(GONE_MAX, sizeof(*code->gone));
	code->forgot_ns = known->forgot_ns;
	for (size_t i = 0; i < code->code.count; i++)
		code->from_ns[i] = known->read_ns;
	for (size_t i = 0; i < known->code.count; i++) {
		struct jit_object *object = known->code.objects[i];
		int64_t same = jit_code_same(&code->code, object);

		if (same >= 0)
			code->from_ns[same] = known->from_ns[i];
		else
			add_gone(code, &(struct made_gone){object, known->from_ns[i],
							   known->read_ns, code->read_ns});
	}
	for (size_t i = 0; i < known->gone_count; i++)
		add_gone(code, &known->gone[i]);
}

static bool follow_code(struct runtime *answer, struct runtime *before)
{
	struct made_code *code = (struct made_code *)answer;
	struct made_code *known = (struct made_code *)before;

	if (answer->error || before->error)
		return true;
	if (!code->is_unchanged) {
		follow_known(code, known);
		return true;
	}
	if (before->refs == 1) /* a forked process may have changed its own meanwhile */
		known->read_ns = code->read_ns;
	return false;
}

struct jit_place made_code_place(const struct made_code *code)
{
	struct jit_place place = code->found;

	if (code->is_unchanged ||
	    (code->code.rows.count && !(code->table && table_is_there(code->table))))
		place.known = 0; /* it is to be read once more */
	return place;
}

uint64_t made_code_rest_ns(const struct made_code *code)
{
	uint64_t rest_ns = code->cpu_ns * REST_TIMES;

	return rest_ns > REST_NS ? rest_ns : REST_NS;
}

/* ---- what is known ---- */

const struct jit_rows *made_code_rows(struct made_code *code, struct tables *tables)
{
	if (!code || code->runtime.error)
		return NULL;
	if (code->code.rows.image.words) {
		code->table = tables_give(tables, &code->code.rows.image);
		jit_code_leave_words(&code->code);
	}
	return code->table && table_is_there(code->table) ? &code->code.rows : NULL;
}

/* Returns the object that is there now, if it was there at that time. */
static struct jit_object *present_at(const struct made_code *code, uint64_t address, uint64_t ns)
{
	int64_t number = jit_code_find(&code->code, address);

	return number >= 0 && ns >= code->from_ns[number] ? code->code.objects[number] : NULL;
}

static bool is_same_name(const char *a, size_t a_len, const char *b, size_t b_len)
{
	return a && b && a_len == b_len && memcmp(a, b, a_len) == 0;
}

const char *made_code_find(const struct made_code *code, uint64_t address, uint64_t ns,
			   struct jit_object **object, size_t *len)
{
	if (!code || code->runtime.error || ns < code->forgot_ns)
		return NULL;
	*object = present_at(code, address, ns);
	const char *name = *object ? jit_object_find(*object, address, len) : NULL;
	bool is_there = *object;

	for (size_t i = 0; i < code->gone_count && ns < code->gone[i].until_ns; i++) {
		const struct made_gone *gone = &code->gone[i];
		size_t its_len = 0;

		if (ns < gone->from_ns || !jit_object_has(gone->object, address))
			continue;
		const char *its = jit_object_find(gone->object, address, &its_len);
		if (is_there && !is_same_name(name, *len, its, its_len))
			return NULL;
		if (is_there || ns > gone->seen_ns)
			continue; /* it may have been gone by then */
		is_there = true;
		*object = gone->object;
		name = its;
		*len = its_len;
	}
	return name;
}

/* ---- the kind ---- */

static bool is_found(const struct runtime *known, const void *found)
{
	const struct made_code *code = (const struct made_code *)known;

	return code->found.descriptor == ((const struct jit_place *)found)->descriptor;
}

static void unref_code(struct runtime *runtime)
{
	struct made_code *code = (struct made_code *)runtime;

	if (!runtime_unref(runtime))
		return;
	for (size_t i = 0; i < code->gone_count; i++)
		jit_object_unref(code->gone[i].object);
	free(code->gone);
	free(code->from_ns);
	jit_code_done(&code->code);
	table_unref(code->table);
	free(code);
}

const struct runtime_kind made_code_kind = {
	.number = RUNTIME_MADE,
	.name = "code made at run time",
	.bytes = sizeof(struct made_code),
	.found_at = offsetof(struct made_code, found),
	.found_bytes = sizeof(struct jit_place),
	.begins_late = true,
	.limit_ns = LIMIT_NS,
	.is_found = is_found,
	.follow = follow_code,
	.ask = ask_code,
	.unref = unref_code,
};
