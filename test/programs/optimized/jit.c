/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit frame|bare|leaf SECONDS: code made at run time, as a just-in-time compiler makes it, without
 * CFI. frame, bare: main -> call_made -> made code with, without a frame pointer -> called_back ->
 * called_back_work, which burns. leaf: made code burns by itself, without a frame.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "level.h"

#if defined(__x86_64__)
/* push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret */
static const unsigned char with_frame[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
/* sub $24, %rsp; call *%rdi; add $24, %rsp; ret */
static const unsigned char bare[] = {0x48, 0x83, 0xec, 24, 0xff, 0xd7, 0x48, 0x83, 0xc4, 24, 0xc3};
/* 1: dec %rdi; jnz 1b; ret */
static const unsigned char leaf[] = {0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3};
#elif defined(__aarch64__)
/* stp x29, x30, [sp, #-16]!; mov x29, sp; blr x0; ldp x29, x30, [sp], #16; ret */
static const unsigned with_frame[] = {0xa9bf7bfd, 0x910003fd, 0xd63f0000, 0xa8c17bfd, 0xd65f03c0};
/* stp x30, xzr, [sp, #-32]!; blr x0; ldp x30, xzr, [sp], #32; ret */
static const unsigned bare[] = {0xa9be7ffe, 0xd63f0000, 0xa8c27ffe, 0xd65f03c0};
/* 1: subs x0, x0, #1; b.ne 1b; ret */
static const unsigned leaf[] = {0xf1000400, 0x54ffffe1, 0xd65f03c0};
#endif

static volatile uint64_t sum;

LEVEL static void called_back_work(void)
{
	use_frame_register();
	sum += burn_ns(20000000);
}

LEVEL static void called_back(void)
{
	called_back_work();
}

LEVEL static void call_made(const void *code, int is_leaf)
{
	void (*made)(uintptr_t);

	memcpy(&made, &code, sizeof(made));
	made(is_leaf ? 10000019 : (uintptr_t)called_back);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: jit frame|bare|leaf SECONDS\n");
		return 2;
	}
	char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int is_leaf = strcmp(argv[1], "leaf") == 0, is_bare = strcmp(argv[1], "bare") == 0;

	if (code == MAP_FAILED)
		return 1;
	memcpy(code, with_frame, sizeof(with_frame));
	memcpy(code + 64, bare, sizeof(bare));
	memcpy(code + 128, leaf, sizeof(leaf));
	__builtin___clear_cache(code, code + 4096);
	while (thread_cpu_ns() < seconds_ns(argv[2]))
		call_made(code + (is_leaf ? 128 : is_bare ? 64 : 0), is_leaf);
	return 0;
}
