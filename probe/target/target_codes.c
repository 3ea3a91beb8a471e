// SPDX-License-Identifier: GPL-2.0-only
/* What a target's stacks have of code whose names lie in its memory. */
#include "code/codes.h"
#include "target/target_state.h"

/* Java's details are the last words of a stack. */
static bool has_codes(const struct stack *stack, const uint64_t *words)
{
	return stack->python != PYTHON_NONE ||
	       (stack->words_count &&
		words[stack->words_count - 1] >> FRAME_KIND_SHIFT == FRAME_JAVA_DETAIL);
}

void targets_want_codes(struct targets *targets, struct codes *const codes[CODES_KINDS],
			const struct stack *stack, const uint64_t *words)
{
	struct target *target;

	if (!has_codes(stack, words))
		return;
	target = target_table_find(targets->table, stack->key.tgid, stack->target_id);
	for (int i = 0; target && !target->rejected && i < CODES_KINDS; i++)
		codes_want(codes[i], target, words, stack->words_count);
}
