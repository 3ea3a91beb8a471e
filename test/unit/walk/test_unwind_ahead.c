// SPDX-License-Identifier: GPL-2.0-or-later
/* The unwinder where a Java VM's code has put something on the stack for a while. The code is that
 * of real VMs. */
#include "unit/java/vm/hotspot_maker.h"

#define A_WORDS 6
#define SP	(STACK + 0x200) /* of a's frame, as a rule */

static uint64_t a, b; /* code of two methods: what is interrupted, and its caller */

static void make_two(void)
{
	vm_make();
	a = vm_nmethod(0x1000, 0x200, 16, A_WORDS, 77);
	b = vm_nmethod(0x2000, 0x200, 16, 4, 88);
	maker_call(b + 0x80, a);
	maker_put(SP + A_WORDS * 8 - 8, b + 0x80);
	maker_put(SP + A_WORDS * 8 - 16, 0x1234); /* b's fp */
	maker_put(SP + A_WORDS * 8 + 24, CALLER);
	maker_put(SP + A_WORDS * 8 + 16, 0x5678);
	vm_root(SP + A_WORDS * 8 + 32);
}

/* What the frame of `a` holds looks like its caller, everywhere. */
static void make_stale(void)
{
	for (uint64_t at = SP - 0x100; at < SP + A_WORDS * 8 - 8; at += 8)
		maker_put(at, CALLER);
}

static void put_code(const uint8_t *code, size_t bytes)
{
	maker_poke(a + 0x100, code, bytes);
}

/* The walk from so many bytes behind what was put, where sp is so much lower than as a rule. */
static void check_two(int line, uint64_t place, uint64_t bytes)
{
	maker.regs.pc = a + 0x100 + place;
	maker.regs.gpr[ARCH_SP] = SP - bytes;
	check_walk(line, TRUNCATED_NOT,
		   (const uint64_t[]){a + 0x100 + place, b + 0x80, CALLER, ROOT_AT}, 4);
}

#define expect_two(place, bytes) check_two(__LINE__, place, bytes)

static void check_cut(int line, uint64_t place, uint64_t bytes)
{
	maker.regs.pc = a + 0x100 + place;
	maker.regs.gpr[ARCH_SP] = SP - bytes;
	check_walk(line, TRUNCATED_JAVA, (const uint64_t[]){a + 0x100 + place}, 1);
}

#define expect_cut(place, bytes) check_cut(__LINE__, place, bytes)

static const uint8_t the_end[] = {0x48, 0x83, 0xc4, 0x20, 0x5d, 0xc3};

static void a_value_that_moves_within_the_frame(void **state)
{
	static const uint8_t code[] = {0x48, 0xff, 0x74, 0x24, 0x18, 0x48, 0x8f, 0x44, 0x24, 0x28};

	(void)state;
	make_two();
	make_stale();
	put_code(code, sizeof(code));
	expect_two(0, 0);
	expect_two(5, 8);
	expect_two(10, 0);
}

/* JDK 8: Math.pow() in a loop. */
static void the_floating_point_stack(void **state)
{
	static const uint8_t code[] = {
		0x48, 0x83, 0xec, 0x08,				/* 0: sub $8, %rsp */
		0xc5, 0xfb, 0x11, 0x24, 0x24,			/* 4: vmovsd %xmm4, (%rsp) */
		0xdd, 0x04, 0x24, 0x48, 0x83, 0xec, 0x08,	/* 9: fldl; sub $8, %rsp */
		0x9b, 0xd9, 0x3c, 0x24, 0x8b, 0x04, 0x24,	/* 16: fstcw; mov */
		0x81, 0xc8, 0x00, 0x03, 0x00, 0x00,		/* 23: or $0x300, %eax */
		0x50, 0xd9, 0x2c, 0x24, 0x58, 0xd9, 0xf1,	/* 29: push; fldcw; pop; fyl2x */
		0x48, 0x83, 0xec, 0x08, 0xd9, 0xf0,		/* 36: sub $8, %rsp; f2xm1 */
		0xb9, 0x00, 0xf8, 0xff, 0xff, 0x0f, 0x44, 0xc1, /* 42: mov; cmove */
		0xc7, 0x04, 0x24, 0,	0,    0,    0,		/* 50: movl $0, (%rsp) */
		0x48, 0x83, 0xc4, 0x08, 0xd9, 0x2c, 0x24,	/* 57: add $8, %rsp; fldcw */
		0x48, 0x83, 0xc4, 0x08, 0xdd, 0x1c, 0x24,	/* 64: add $8, %rsp; fstpl */
		0xc5, 0xfb, 0x10, 0x0c, 0x24,			/* 71: vmovsd (%rsp), %xmm1 */
		0x48, 0x83, 0xc4, 0x08, 0xeb, 0xae};		/* 76: add $8, %rsp; jmp 0 */
	static const struct {
		uint8_t at, bytes;
	} places[] = {{0, 0},	{4, 8},	  {12, 8},  {16, 16}, {29, 16}, {30, 24},
		      {33, 24}, {34, 16}, {40, 24}, {47, 24}, {50, 24}, {57, 24},
		      {61, 16}, {68, 8},  {71, 8},  {76, 8},  {80, 0}};

	(void)state;
	make_two();
	make_stale();
	put_code(code, sizeof(code));
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		expect_two(places[i].at, places[i].bytes);
	maker_put(SP + A_WORDS * 8 - 8, b + 0x90); /* behind no call */
	expect_cut(40, 24);
}

/* JDK 8: the way on is a jump back, and the branches before it lead on. */
static void a_branch_that_is_not_taken_is_tried_where_the_way_ends(void **state)
{
	static const uint8_t code[] = {0x50, 0xf2, 0x48, 0xaf, 0x75, 0x05,  /* push; scas; jne 11 */
				       0x48, 0x89, 0x46, 0xeb, 0xf5, 0x58}; /* mov; jmp 0; pop */

	(void)state;
	make_two();
	make_stale();
	put_code(code, sizeof(code));
	maker_poke(a + 0x100 + 6, "\x90\x90\x90", 3);
	put_code(code, 6);
	expect_two(1, 8);
	expect_two(4, 8);
	expect_two(11, 8);
	expect_two(12, 0);
}

/* String.indexOf(): %rcx is what sp was. */
static void sp_that_lies_on_the_stack(void **state)
{
	static const uint8_t code[] = {
		0x48, 0x8b, 0xcc, 0x83, 0xf8, 0x10, 0x73, 0x0c, /* 0: mov %rsp, %rcx; cmp; jae 20 */
		0x48, 0x83, 0xec, 0x10, 0x50, 0xff, 0xc8,	/* 8: sub $16, %rsp; push; dec */
		0x75, 0xfb, 0x58, 0x8b, 0xf4,			/* 15: jne; pop; mov %esp, %esi */
		0x50, 0x56, 0x57, 0x51,				/* 20: push, four times */
		0xc4, 0xe3, 0x79, 0x61, 0x1b, 0x0c,		/* 24: vpcmpestri $12, … */
		0x72, 0x02, 0xeb, 0xf6, 0x90, 0x5c}; /* 30: jb 34; jmp 24; nop; pop %rsp */

	(void)state;
	make_two();
	make_stale();
	put_code(code, sizeof(code));
	maker_poke(a + 0x100 + sizeof(code), the_end, sizeof(the_end));
	expect_two(0, 0);
	expect_two(3, 0);
	maker_put(SP - 48, SP);
	expect_two(24, 48);
	expect_two(30, 48);
	expect_two(34, 48);
	expect_two(35, 48);
	expect_two(36, 0);
	expect_cut(13, 24); /* it is in a register still */
	maker_put(SP - 48, SP + 0x10000);
	expect_cut(24, 48);
}

/* A stub that is called from a method, which has put parameters on the stack for it. */
static void a_stub_and_what_was_put_on_the_stack_for_it(void **state)
{
	static const uint8_t stub_code[] = {0x57, 0x56, 0x51, 0x48, 0x8d, 0x64, 0x24, 0xe0, 0x48,
					    0x85, 0xd2, 0x79, 0x03, 0x90, 0x90, 0x90, 0x48, 0x8d,
					    0x64, 0x24, 0x20, 0x59, 0x5e, 0x5f, 0xc3};
	static const uint8_t call[] = {0x50, 0x51, 0xe8, 0, 0, 0, 0, 0x59, 0x58};
	static const struct {
		uint8_t at, bytes;
	} places[] = {{0, 0}, {1, 8}, {3, 24}, {8, 56}, {16, 56}, {21, 24}, {23, 8}, {24, 0}};
	uint64_t stub, fp = STACK + 0x600;

	(void)state;
	make_two();
	make_stale();
	put_code(call, sizeof(call));
	stub = vm_stub(0x4000, 0x100, UINT32_MAX); /* no size */
	maker_poke(stub, stub_code, sizeof(stub_code));
	maker_call(a + 0x107, stub);
	maker_put(SP - 24, a + 0x107);
	maker_put(fp, 0x5678); /* a frame pointer of older frames' */
	maker_put(fp + 8, CALLER);
	maker.regs.gpr[ARCH_FP] = fp;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		maker.regs.pc = stub + places[i].at;
		maker.regs.gpr[ARCH_SP] = SP - 24 - places[i].bytes;
		expect_walk(TRUNCATED_NOT, stub + places[i].at, a + 0x107, b + 0x80, CALLER,
			    ROOT_AT);
	}
}

/* Each instruction's length counts, for what follows is taken for code. */
static void instructions_of_all_forms(void **state)
{
	static const char *const forms[] = {
		"\x04\x58",				    /* add $0x58, %al */
		"\x48\x81\xc1\x58\x58\x58\x58",		    /* add $…, %rcx */
		"\x66\x81\xc1\x58\x58",			    /* add $…, %cx */
		"\x48\xb9\x58\x58\x58\x58\x58\x58\x58\x58", /* movabs */
		"\x66\xb9\x58\x58",			    /* mov $…, %cx */
		"\xf6\xc1\x58",				    /* test $0x58, %cl */
		"\xf6\xd1",				    /* not %cl */
		"\xf7\xc1\x58\x58\x58\x58",		    /* test $…, %ecx */
		"\x8b\x0d\x58\x58\x58\x58",		    /* mov …(%rip), %ecx */
		"\x8b\x4c\x58\x58",			    /* mov 0x58(%rax, %rbx, 2), %ecx */
		"\x8b\x0c\x5d\x58\x58\x58\x58",		    /* mov …(, %rbx, 2), %ecx */
		"\x8b\x8c\x58\x58\x58\x58\x58",		    /* mov …(%rax, %rbx, 2), %ecx */
		"\x48\x0f\xba\xe7\x58",			    /* bt $0x58, %rdi */
		"\xf3\x48\x0f\xb8\xd2",			    /* popcnt */
		"\x66\x0f\x3a\x63\x4f\x58\x58",		    /* pcmpistri $0x58, 0x58(%rdi), … */
		"\x66\x0f\x38\x00\x4f\x58",		    /* pshufb 0x58(%rdi), … */
		"\xc5\xf9\x70\xc1\x58",			    /* vpshufd $0x58, … */
		"\xc5\xf8\x77",				    /* vzeroupper */
		"\xc4\xe2\x79\x18\x47\x58",		    /* vbroadcastss 0x58(%rdi), … */
		"\x62\xf1\x7c\x48\x10\x47\x58",		    /* vmovups 0x58(%rdi), %zmm0 */
		"\x0f\x84\x58\x58\x58\x58",		    /* je, to elsewhere */
		"\x74\xa0",				    /* je, back */
		"\x0f\xb6\x44\x24\x58",			    /* movzbl 0x58(%rsp), %eax */
		"\xa8\x58\x6b\xc0\x58",			    /* test $0x58, %al; imul $0x58, … */
		"\x9b\xdb\x58\x58",			    /* fwait; fistpl 0x58(%rax) */
	};
	static const uint8_t bytes[] = {2, 7, 5, 10, 4, 3, 2, 6, 6, 4, 7, 7, 5,
					5, 7, 6, 5,  3, 6, 7, 6, 2, 5, 5, 4};

	(void)state;
	make_two();
	make_stale();
	for (size_t i = 0; i < sizeof(bytes); i++) {
		put_code((const uint8_t *)forms[i], bytes[i]);
		maker_poke(a + 0x100 + bytes[i], "\x58", 1); /* pop %rax */
		maker_poke(a + 0x101 + bytes[i], the_end, sizeof(the_end));
		expect_two(0, 8);
	}
}

static void any_code_is_followed_to_an_end(void **state)
{
	uint64_t seed = 1;

	(void)state;
	make_two();
	for (int round = 0; round < 3000; round++) {
		for (uint64_t at = 0; at < 0x200; at += 8) {
			uint64_t word = random_next(&seed);

			maker_poke(a + at, &word, 8);
		}
		maker.regs.pc = a + random_next(&seed) % 0x200;
		maker.regs.gpr[ARCH_SP] = SP - random_next(&seed) % 8 * 8;
		maker_walk();
	}
}

int main(void)
{
#define WALK(test) cmocka_unit_test_teardown(test, process_end)
	const struct CMUnitTest tests[] = {
		WALK(a_value_that_moves_within_the_frame),
		WALK(the_floating_point_stack),
		WALK(a_branch_that_is_not_taken_is_tried_where_the_way_ends),
		WALK(sp_that_lies_on_the_stack),
		WALK(a_stub_and_what_was_put_on_the_stack_for_it),
		WALK(instructions_of_all_forms),
		WALK(any_code_is_followed_to_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
