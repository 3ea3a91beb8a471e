// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include "proc/uprobe_site.h"

#if defined(__x86_64__)

#define BYTES(text) (const uint8_t *)(text), sizeof(text) - 1

struct expectation {
	const char *what;
	const uint8_t *code;
	size_t bytes;
	unsigned arguments;
	struct uprobe_site straight;
};

#define EMULATED(offset, pushed)                                                                   \
	{                                                                                          \
		offset, pushed, true                                                               \
	}
#define NONE                                                                                       \
	{                                                                                          \
		0, 0, false                                                                        \
	}

static void check(const struct expectation *expectations, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct expectation *row = &expectations[i];
		struct uprobe_site found;

		uprobe_site_find(row->code, row->bytes, row->arguments, &found);
		if (found.emulated != row->straight.emulated ||
		    found.offset != row->straight.offset || found.pushed != row->straight.pushed)
			fail_msg("%s: at %u, %u pushed, %s", row->what, found.offset, found.pushed,
				 found.emulated ? "emulated" : "not emulated");
	}
}

static void what_the_kernel_emulates_is_found(void **state)
{
	static const struct expectation rows[] = {
		{"push %rbp", BYTES("\x55"), 6, EMULATED(0, 0)},
		{"push %rsp", BYTES("\x54"), 6, EMULATED(0, 0)},
		{"push %r12", BYTES("\x41\x54"), 6, EMULATED(0, 0)},
		{"nop", BYTES("\x90"), 6, EMULATED(0, 0)},
		{"call", BYTES("\xe8\0\0\0\0"), 6, EMULATED(0, 0)},
		{"jmp, near", BYTES("\xe9\0\0\0\0"), 6, EMULATED(0, 0)},
		{"jmp, short", BYTES("\xeb\x10"), 6, EMULATED(0, 0)},
		{"je, short", BYTES("\x74\x10"), 6, EMULATED(0, 0)},
		{"jg, near", BYTES("\x0f\x8f\0\0\0\0"), 6, EMULATED(0, 0)},
		{"bnd jmp", BYTES("\xf2\xe9\0\0\0\0"), 6, EMULATED(0, 0)},
		{"endbr64; push %rbp", BYTES("\xf3\x0f\x1e\xfa\x55"), 6, EMULATED(4, 0)},
		{"endbr64; test %rdi,%rdi; je", BYTES("\xf3\x0f\x1e\xfa\x48\x85\xff\x74\x10"), 6,
		 EMULATED(7, 0)},
		{"sub $24,%rsp; call", BYTES("\x48\x83\xec\x18\xe8\0\0\0\0"), 6, EMULATED(4, 24)},
		{"sub $24,%rsp twice; je", BYTES("\x48\x83\xec\x18\x48\x83\xec\x18\x74\x10"), 6,
		 EMULATED(8, 48)},
	};

	(void)state;
	check(rows, ARRAY_SIZE(rows));
}

static void what_it_steps_or_refuses_is_not(void **state)
{
	static const struct expectation rows[] = {
		{"xchg %r8,%rax", BYTES("\x49\x90"), 0, NONE},
		{"pause", BYTES("\xf3\x90"), 0, NONE},
		{"a nop of five bytes", BYTES("\x0f\x1f\x44\0\0"), 0, NONE},
		{"endbr64", BYTES("\xf3\x0f\x1e\xfa"), 0, NONE},
		{"push %bp", BYTES("\x66\x55"), 0, NONE},
		{"rex.w push %rbp", BYTES("\x48\x55"), 0, NONE},
		{"push $1", BYTES("\x6a\x01"), 0, NONE},
		{"push of memory", BYTES("\xff\x37"), 0, NONE},
		{"notrack jmp", BYTES("\x3e\xe9\0\0\0\0"), 0, NONE},
		{"jrcxz", BYTES("\xe3\x10\x55"), 0, NONE},
		{"loop", BYTES("\xe2\x10\x55"), 0, NONE},
		{"no instruction", BYTES("\x06\x55"), 0, NONE},
		{"half an instruction", BYTES("\x0f"), 0, NONE},
		{"nothing", BYTES(""), 0, NONE},
	};

	(void)state;
	check(rows, ARRAY_SIZE(rows));
}

static void the_look_ends_where_the_line_does(void **state)
{
	static const struct expectation rows[] = {
		{"ret; push", BYTES("\xc3\x55"), 0, NONE},
		{"jmp *%rax; push", BYTES("\xff\xe0\x55"), 0, NONE},
		{"call *%rax; push", BYTES("\xff\xd0\x55"), 0, NONE},
		{"syscall; je", BYTES("\x0f\x05\x74\x10"), 0, NONE},
		{"int3; push", BYTES("\xcc\x55"), 0, NONE},
		{"and $-16,%rsp; push", BYTES("\x48\x83\xe4\xf0\x55"), 0, NONE},
		{"pop %rbx; push", BYTES("\x5b\x55"), 0, NONE},
	};

	(void)state;
	check(rows, ARRAY_SIZE(rows));
}

static void it_ends_where_an_argument_is_written(void **state)
{
	static const struct expectation rows[] = {
		{"mov %rsi,%rdi; push", BYTES("\x48\x89\xf7\x55"), 1, NONE},
		{"mov %rsi,%rdi; push: none is looked for", BYTES("\x48\x89\xf7\x55"), 0,
		 EMULATED(3, 0)},
		{"mov %rdi,%rsi; push: one is looked for", BYTES("\x48\x89\xfe\x55"), 1,
		 EMULATED(3, 0)},
		{"mov %rdi,%rsi; push", BYTES("\x48\x89\xfe\x55"), 2, NONE},
		{"xor %edi,%edi; push", BYTES("\x31\xff\x55"), 1, NONE},
		{"mov $0,%dil; push", BYTES("\x40\xb7\0\x55"), 1, NONE},
		{"mul %rsi; je: it writes %rdx", BYTES("\x48\xf7\xe6\x74\x10"), 3, NONE},
		{"mul %rsi; je: which isn't looked for", BYTES("\x48\xf7\xe6\x74\x10"), 2,
		 EMULATED(3, 0)},
		{"rep movsb; push", BYTES("\xf3\xa4\x55"), 1, NONE},
		{"cmove %rsi,%rdi; push", BYTES("\x48\x0f\x44\xfe\x55"), 1, NONE},
		{"xchg %rdi,%rax; push", BYTES("\x48\x97\x55"), 1, NONE},
		{"cmp $4096,%rdi; ja", BYTES("\x48\x81\xff\0\x10\0\0\x77\x10"), 1, EMULATED(7, 0)},
	};

	(void)state;
	check(rows, ARRAY_SIZE(rows));
}

static void it_ends_after_64_bytes(void **state)
{
	uint8_t code[80];
	struct uprobe_site found;

	(void)state;
	for (size_t i = 0; i < sizeof(code); i += 2) {
		code[i] = 0x89; /* mov %eax,%eax */
		code[i + 1] = 0xc0;
	}
	code[62] = 0x55;
	uprobe_site_find(code, sizeof(code), 6, &found);
	assert_true(found.emulated && found.offset == 62);
	code[62] = 0x89;
	code[64] = 0x55;
	uprobe_site_find(code, sizeof(code), 6, &found);
	assert_false(found.emulated);
}

/* The first bytes of functions, from these packages of Debian for amd64. */
static void real_functions_begin_so(void **state)
{
	static const struct expectation rows[] = {
		/* libc6 2.31-13+deb11u11 */
		{"2.31 malloc",
		 BYTES("\x48\x8b\x05\x09\x81\x14\x00\x41\x54\x55\x48\x89\xfd\x53\x48"), 1,
		 EMULATED(7, 0)},
		{"2.31 calloc", BYTES("\x41\x55\x48\x89\xf8\x41\x54\x55"), 2, EMULATED(0, 0)},
		{"2.31 realloc", BYTES("\x41\x57\x41\x56\x41\x55\x41\x54"), 2, EMULATED(0, 0)},
		{"2.31 free",
		 BYTES("\x48\x83\xec\x18\x48\x8b\x05\xdd\x7a\x14\x00\x48\x8b\x00\x48\x85\xc0\x0f"
		       "\x85\x81\x00\x00\x00\x48\x85"),
		 1, EMULATED(17, 24)},
		{"2.31 aligned_alloc", BYTES("\x48\x8b\x14\x24\xe9\x77\xf6\xff\xff"), 2,
		 EMULATED(4, 0)},
		{"2.31 mmap", BYTES("\x41\xf7\xc1\xff\x0f\x00\x00\x75\x27\x55\x48\x89\xfd\x53\x89"),
		 6, EMULATED(7, 0)},
		{"2.31 munmap",
		 BYTES("\xb8\x0b\x00\x00\x00\x0f\x05\x48\x3d\x01\xf0\xff\xff\x73\x01\xc3"), 2,
		 NONE},
		/* libc6 2.36-9+deb12u14 */
		{"2.36 malloc", BYTES("\x41\x54\x55\x53\x48\x89\xfb\x48"), 1, EMULATED(0, 0)},
		{"2.36 free", BYTES("\x48\x85\xff\x0f\x84\xbf\x00\x00\x00\x55\x48"), 1,
		 EMULATED(3, 0)},
		{"2.36 aligned_alloc",
		 BYTES("\x80\x3d\x71\x0e\x14\x00\x00\x74\x07\xe9\x32\xf6\xff\xff\x66"), 2,
		 EMULATED(7, 0)},
		{"2.36 mmap",
		 BYTES("\x41\x89\xca\x41\xf7\xc1\xff\x0f\x00\x00\x75\x14\xb8\x09\x00\x00\x00\x0f"),
		 6, EMULATED(10, 0)},
		{"2.36 mremap",
		 BYTES("\x48\x83\xec\x58\x4c\x89\x44\x24\x40\x64\x48\x8b\x04\x25\x28\x00\x00\x00"
		       "\x48\x89\x44\x24\x18\x31\xc0\x83\xf9\x07\x77\x5a\x41\x89\xca\x45\x31\xc0"),
		 5, EMULATED(28, 88)},
		/* libc6 2.41-12+deb13u1 */
		{"2.41 malloc", BYTES("\x41\x54\x55\x53\x48\x89\xfb\x48"), 1, EMULATED(0, 0)},
		{"2.41 free", BYTES("\x48\x85\xff\x0f\x84\x7f\x01\x00\x00\x41\x57"), 1,
		 EMULATED(3, 0)},
		{"2.41 posix_memalign",
		 BYTES("\x80\x3d\xd1\x87\x14\x00\x00\x41\x54\x49\x89\xd4\x55\x48\x89"), 3,
		 EMULATED(7, 0)},
		/* musl 1.2.3-1 */
		{"musl malloc", BYTES("\xe9\x6b\x19\x00\x00"), 1, EMULATED(0, 0)},
		{"musl mmap", BYTES("\x41\x54\x53\x48\x83\xec\x28\x41"), 6, EMULATED(0, 0)},
		/* libjemalloc2 5.3.0-1 */
		{"jemalloc malloc",
		 BYTES("\x48\x81\xff\x00\x10\x00\x00\x0f\x87\x93\x00\x00\x00\x48\x8d"), 1,
		 EMULATED(7, 0)},
		{"jemalloc free",
		 BYTES("\x48\x89\xf8\x48\x8b\x15\x0e\x53\x0a\x00\x48\x89\xf9\x48\xc1\xe8\x1a\x48"
		       "\x81\xe1\x00\x00\x00\xc0\x25\xf0\x00\x00\x00\x64\x48\x03\x04\x25\x00\x00"
		       "\x00\x00\x48\x01\xd0\x48\x3b\x88\xb0\x01\x00\x00\x0f\x85\x8a\x00\x00\x00"),
		 1, EMULATED(48, 0)},
		/* libtcmalloc-minimal4 2.10-1 */
		{"tcmalloc malloc",
		 BYTES("\x48\x8b\x05\x59\xab\x00\x00\x48\x85\xc0\x75\x75\x48\x8b\x05\x05"), 1,
		 EMULATED(10, 0)},
	};

	(void)state;
	check(rows, ARRAY_SIZE(rows));
}

struct leaps {
	struct uprobe_site_jump leaps[8];
	size_t count;
};

static void note(void *arg, const struct uprobe_site_jump *leap)
{
	struct leaps *leaps = arg;

	if (leaps->count < ARRAY_SIZE(leaps->leaps))
		leaps->leaps[leaps->count++] = *leap;
}

static void leaps_say_where_they_lead(void **state)
{
	static const uint8_t code[] = {
		0xe8, 0x0b, 0x00, 0x00, 0x00,	       /* 0x1000: call 0x1010 */
		0xff, 0xe0,			       /* 0x1005: jmp *%rax */
		0x74, 0x07,			       /* 0x1007: je 0x1010 */
		0xff, 0x25, 0x01, 0x00, 0x00, 0x00,    /* 0x1009: jmp *0x1010 */
		0xf2, 0xff, 0x15, 0,	0,    0,    0, /* 0x100f: bnd call *0x1016 */
		0xe9, 0xe5, 0xff, 0xff, 0xff,	       /* 0x1016: jmp 0x1000 */
		0x06,				       /* nothing */
		0xe9, 0x00, 0x00, 0x00, 0x00,
	};
	static const struct uprobe_site_jump expected[] = {{0x1010, false, true},
							   {0x1010, false, false},
							   {0x1010, true, false},
							   {0x1016, true, true},
							   {0x1000, false, false}};
	struct leaps leaps = {0};

	(void)state;
	uprobe_site_jumps(code, sizeof(code), 0x1000, note, &leaps);
	assert_int_equal(leaps.count, ARRAY_SIZE(expected));
	for (size_t i = 0; i < leaps.count; i++) {
		assert_int_equal(leaps.leaps[i].address, expected[i].address);
		assert_int_equal(leaps.leaps[i].by_slot, expected[i].by_slot);
		assert_int_equal(leaps.leaps[i].is_call, expected[i].is_call);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_kernel_emulates_is_found),
		cmocka_unit_test(what_it_steps_or_refuses_is_not),
		cmocka_unit_test(the_look_ends_where_the_line_does),
		cmocka_unit_test(it_ends_where_an_argument_is_written),
		cmocka_unit_test(it_ends_after_64_bytes),
		cmocka_unit_test(real_functions_begin_so),
		cmocka_unit_test(leaps_say_where_they_lead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	puts("test_straight: skipped, another processor");
	return 0;
}

#endif
