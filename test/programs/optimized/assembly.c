/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * assembly: burns in main -> calls_assembly -> by_hand -> inner, until it is killed. by_hand and
 * inner are written as codecs write such functions: without CFI, the stack aligned and its old
 * pointer kept in a slot, rbp a number that is 0 at most times. A local label has no size, and lies
 * before by_hand.
 */
#include "level.h"

#if defined(__x86_64__)
__asm__(".text\n"
	".globl before_by_hand\n"
	"before_by_hand:\n" /* untyped, without a size */
	"	mov %rdi, %rax\n"
	"	ret\n"
	"	.skip 37, 0xcc\n"
	".globl by_hand\n"
	".type by_hand, @function\n"
	"by_hand:\n"
	"	push %rbx\n"
	"	push %rbp\n"
	"	mov %rsp, %rax\n"
	"	sub $344, %rsp\n"
	"	and $-64, %rsp\n"
	"	mov %rax, 336(%rsp)\n"
	"	mov %rdi, %rbx\n"
	"1:	xor %ebp, %ebp\n"
	"	call 3f\n"
	"2:	lea 1(%rbp,%rbp), %rbp\n"
	"	xor %ebp, %ebp\n"
	"	mov $300, %ecx\n"
	"4:	imul $7, %rax, %rax\n"
	"	dec %ecx\n"
	"	jnz 4b\n"
	"	dec %rbx\n"
	"	jnz 1b\n"
	"	mov 336(%rsp), %rsp\n"
	"	pop %rbp\n"
	"	pop %rbx\n"
	"	ret\n"
	".size by_hand, .-by_hand\n"
	"	.skip 5, 0xcc\n"
	"3:\n" /* inner: nobody names it */
	"	sub $24, %rsp\n"
	"	mov $900, %ecx\n"
	"5:	imul $5, %rax, %rax\n"
	"	dec %ecx\n"
	"	jnz 5b\n"
	"	add $24, %rsp\n"
	"	ret\n");
#endif

uint64_t by_hand(uint64_t rounds);

LEVEL uint64_t calls_assembly(void)
{
	use_frame_register();
	return by_hand(1000) + 1;
}

int main(void)
{
	volatile uint64_t sum = 0;

	for (;;)
		sum = sum + calls_assembly();
}
