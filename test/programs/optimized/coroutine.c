/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * coroutine SECONDS: two coroutines burn in turn for that much CPU time, on stacks of their own:
 * co_body -> co_step.
 */
#include <ucontext.h>

#include "level.h"

#define STACK_BYTES 262144

static ucontext_t main_context, contexts[2];
static char stacks[2][STACK_BYTES] __attribute__((aligned(64)));
static volatile uint64_t sum;
static uint64_t length_ns;

LEVEL static void co_step(int number)
{
	use_frame_register();
	sum += burn_ns(2000000);
	swapcontext(&contexts[number], &contexts[!number]);
}

LEVEL static void co_body(int number)
{
	while (thread_cpu_ns() < length_ns)
		co_step(number);
}

static int make(int number)
{
	ucontext_t *context = &contexts[number];

	if (getcontext(context))
		return -1;
	context->uc_stack.ss_sp = stacks[number];
	context->uc_stack.ss_size = STACK_BYTES;
	context->uc_link = &main_context;
	makecontext(context, (void (*)(void))co_body, 1, number);
	return 0;
}

int main(int argc, char **argv)
{
	length_ns = seconds_ns(argc > 1 ? argv[1] : "1");
	if (make(0) || make(1))
		return 1;
	return swapcontext(&main_context, &contexts[0]) ? 1 : 0;
}
