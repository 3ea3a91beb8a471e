/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * planted: coroutines as boost.context makes them, without CFI. A stack's first function returns to
 * an address in stack_make, which no call lies before and which ends the program. Burns in
 * coroutine -> middle -> inner, on two stacks in turns, until it is killed.
 */
#include <stdlib.h>

#include "level.h"

#define STACK_BYTES 65536

#if defined(__x86_64__)
__asm__(".text\n"
	".globl stack_make\n"
	".type stack_make, @function\n"
	"stack_make:\n" /* the top, a function -> what stack_switch() takes */
	"	mov %rdi, %rax\n"
	"	and $-16, %rax\n"
	"	sub $64, %rax\n"
	"	mov %rsi, 40(%rax)\n"
	"	lea 2f(%rip), %rcx\n"
	"	mov %rcx, 48(%rax)\n"
	"	lea 1f(%rip), %rcx\n"
	"	mov %rcx, 56(%rax)\n"
	"	ret\n"
	"1:	push %rbp\n" /* the address of 2 */
	"	jmp *%rbx\n"
	"2:	xor %edi, %edi\n"
	"	call _exit@PLT\n"
	"	hlt\n"
	".size stack_make, .-stack_make\n"
	".globl stack_switch\n"
	".type stack_switch, @function\n"
	"stack_switch:\n" /* where to keep the old one, the new one */
	"	push %rbp\n"
	"	push %rbx\n"
	"	push %r15\n"
	"	push %r14\n"
	"	push %r13\n"
	"	push %r12\n"
	"	sub $8, %rsp\n"
	"	mov %rsp, (%rdi)\n"
	"	mov %rsi, %rsp\n"
	"	add $8, %rsp\n"
	"	pop %r12\n"
	"	pop %r13\n"
	"	pop %r14\n"
	"	pop %r15\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	"	ret\n"
	".size stack_switch, .-stack_switch\n");
#endif

void *stack_make(void *top, void (*function)(void));
void stack_switch(void **old, void *next);

static void *stacks[2], *main_stack;
static int turn;

LEVEL uint64_t inner(uint64_t rounds)
{
	use_frame_register();
	volatile uint64_t sum = 0;

	for (uint64_t i = 0; i < rounds; i++)
		sum = sum + i;
	return sum + 1;
}

LEVEL uint64_t middle(uint64_t rounds)
{
	use_frame_register();
	return inner(rounds) + 1;
}

LEVEL void coroutine(void)
{
	volatile uint64_t sum = 0;

	for (;;) {
		sum = sum + middle(100000);
		int mine = turn;

		turn = !turn;
		stack_switch(&stacks[mine], stacks[turn]);
	}
}

int main(void)
{
	for (int i = 0; i < 2; i++) {
		char *stack = malloc(STACK_BYTES);

		if (!stack)
			return 1;
		stacks[i] = stack_make(stack + STACK_BYTES, coroutine);
	}
	stack_switch(&main_stack, stacks[0]);
	return 1;
}
