// SPDX-License-Identifier: GPL-2.0-or-later
/* What bpf/core/arch.h knows of x86-64's instructions, by what the assembler makes of them. */
#include "unit/lib/unit.h"

#ifdef __x86_64__

#include "bpf/core/arch.h"

struct code {
	const char *bytes;
	size_t count;
	const char *text;
};

/* clang-format off */
static const struct code calls[] = {
	{"\xff\xd0", 2, "call *%rax"},
	{"\xff\xd1", 2, "call *%rcx"},
	{"\xff\xd2", 2, "call *%rdx"},
	{"\xff\xd3", 2, "call *%rbx"},
	{"\xff\xd4", 2, "call *%rsp"},
	{"\xff\xd5", 2, "call *%rbp"},
	{"\xff\xd6", 2, "call *%rsi"},
	{"\xff\xd7", 2, "call *%rdi"},
	{"\x41\xff\xd0", 3, "call *%r8"},
	{"\x41\xff\xd1", 3, "call *%r9"},
	{"\x41\xff\xd2", 3, "call *%r10"},
	{"\x41\xff\xd3", 3, "call *%r11"},
	{"\x41\xff\xd4", 3, "call *%r12"},
	{"\x41\xff\xd5", 3, "call *%r13"},
	{"\x41\xff\xd6", 3, "call *%r14"},
	{"\x41\xff\xd7", 3, "call *%r15"},
	{"\xff\x10", 2, "call *(%rax)"},
	{"\xff\x50\x10", 3, "call *0x10(%rax)"},
	{"\xff\x90\x45\x23\x01\x00", 6, "call *0x12345(%rax)"},
	{"\xff\x50\xf8", 3, "call *-8(%rax)"},
	{"\xff\x11", 2, "call *(%rcx)"},
	{"\xff\x51\x10", 3, "call *0x10(%rcx)"},
	{"\xff\x91\x45\x23\x01\x00", 6, "call *0x12345(%rcx)"},
	{"\xff\x51\xf8", 3, "call *-8(%rcx)"},
	{"\xff\x12", 2, "call *(%rdx)"},
	{"\xff\x52\x10", 3, "call *0x10(%rdx)"},
	{"\xff\x92\x45\x23\x01\x00", 6, "call *0x12345(%rdx)"},
	{"\xff\x52\xf8", 3, "call *-8(%rdx)"},
	{"\xff\x13", 2, "call *(%rbx)"},
	{"\xff\x53\x10", 3, "call *0x10(%rbx)"},
	{"\xff\x93\x45\x23\x01\x00", 6, "call *0x12345(%rbx)"},
	{"\xff\x53\xf8", 3, "call *-8(%rbx)"},
	{"\xff\x14\x24", 3, "call *(%rsp)"},
	{"\xff\x54\x24\x10", 4, "call *0x10(%rsp)"},
	{"\xff\x94\x24\x45\x23\x01\x00", 7, "call *0x12345(%rsp)"},
	{"\xff\x54\x24\xf8", 4, "call *-8(%rsp)"},
	{"\xff\x55\x00", 3, "call *(%rbp)"},
	{"\xff\x55\x10", 3, "call *0x10(%rbp)"},
	{"\xff\x95\x45\x23\x01\x00", 6, "call *0x12345(%rbp)"},
	{"\xff\x55\xf8", 3, "call *-8(%rbp)"},
	{"\xff\x16", 2, "call *(%rsi)"},
	{"\xff\x56\x10", 3, "call *0x10(%rsi)"},
	{"\xff\x96\x45\x23\x01\x00", 6, "call *0x12345(%rsi)"},
	{"\xff\x56\xf8", 3, "call *-8(%rsi)"},
	{"\xff\x17", 2, "call *(%rdi)"},
	{"\xff\x57\x10", 3, "call *0x10(%rdi)"},
	{"\xff\x97\x45\x23\x01\x00", 6, "call *0x12345(%rdi)"},
	{"\xff\x57\xf8", 3, "call *-8(%rdi)"},
	{"\x41\xff\x10", 3, "call *(%r8)"},
	{"\x41\xff\x50\x10", 4, "call *0x10(%r8)"},
	{"\x41\xff\x90\x45\x23\x01\x00", 7, "call *0x12345(%r8)"},
	{"\x41\xff\x50\xf8", 4, "call *-8(%r8)"},
	{"\x41\xff\x11", 3, "call *(%r9)"},
	{"\x41\xff\x51\x10", 4, "call *0x10(%r9)"},
	{"\x41\xff\x91\x45\x23\x01\x00", 7, "call *0x12345(%r9)"},
	{"\x41\xff\x51\xf8", 4, "call *-8(%r9)"},
	{"\x41\xff\x12", 3, "call *(%r10)"},
	{"\x41\xff\x52\x10", 4, "call *0x10(%r10)"},
	{"\x41\xff\x92\x45\x23\x01\x00", 7, "call *0x12345(%r10)"},
	{"\x41\xff\x52\xf8", 4, "call *-8(%r10)"},
	{"\x41\xff\x13", 3, "call *(%r11)"},
	{"\x41\xff\x53\x10", 4, "call *0x10(%r11)"},
	{"\x41\xff\x93\x45\x23\x01\x00", 7, "call *0x12345(%r11)"},
	{"\x41\xff\x53\xf8", 4, "call *-8(%r11)"},
	{"\x41\xff\x14\x24", 4, "call *(%r12)"},
	{"\x41\xff\x54\x24\x10", 5, "call *0x10(%r12)"},
	{"\x41\xff\x94\x24\x45\x23\x01\x00", 8, "call *0x12345(%r12)"},
	{"\x41\xff\x54\x24\xf8", 5, "call *-8(%r12)"},
	{"\x41\xff\x55\x00", 4, "call *(%r13)"},
	{"\x41\xff\x55\x10", 4, "call *0x10(%r13)"},
	{"\x41\xff\x95\x45\x23\x01\x00", 7, "call *0x12345(%r13)"},
	{"\x41\xff\x55\xf8", 4, "call *-8(%r13)"},
	{"\x41\xff\x16", 3, "call *(%r14)"},
	{"\x41\xff\x56\x10", 4, "call *0x10(%r14)"},
	{"\x41\xff\x96\x45\x23\x01\x00", 7, "call *0x12345(%r14)"},
	{"\x41\xff\x56\xf8", 4, "call *-8(%r14)"},
	{"\x41\xff\x17", 3, "call *(%r15)"},
	{"\x41\xff\x57\x10", 4, "call *0x10(%r15)"},
	{"\x41\xff\x97\x45\x23\x01\x00", 7, "call *0x12345(%r15)"},
	{"\x41\xff\x57\xf8", 4, "call *-8(%r15)"},
	{"\xff\x14\xd8", 3, "call *(%rax,%rbx,8)"},
	{"\xff\x54\xd8\x20", 4, "call *0x20(%rax,%rbx,8)"},
	{"\xff\x94\xd8\x00\x40\x00\x00", 7, "call *0x4000(%rax,%rbx,8)"},
	{"\xff\x14\x04", 3, "call *(%rsp,%rax,1)"},
	{"\xff\x54\x04\x20", 4, "call *0x20(%rsp,%rax,1)"},
	{"\xff\x94\x04\x00\x40\x00\x00", 7, "call *0x4000(%rsp,%rax,1)"},
	{"\x43\xff\x14\xac", 4, "call *(%r12,%r13,4)"},
	{"\x43\xff\x54\xac\x20", 5, "call *0x20(%r12,%r13,4)"},
	{"\x43\xff\x94\xac\x00\x40\x00\x00", 8, "call *0x4000(%r12,%r13,4)"},
	{"\xff\x54\x4d\x00", 4, "call *(%rbp,%rcx,2)"},
	{"\xff\x54\x4d\x20", 4, "call *0x20(%rbp,%rcx,2)"},
	{"\xff\x94\x4d\x00\x40\x00\x00", 7, "call *0x4000(%rbp,%rcx,2)"},
	{"\x43\xff\x54\xcd\x00", 5, "call *(%r13,%r9,8)"},
	{"\x43\xff\x54\xcd\x20", 5, "call *0x20(%r13,%r9,8)"},
	{"\x43\xff\x94\xcd\x00\x40\x00\x00", 8, "call *0x4000(%r13,%r9,8)"},
	{"\x42\xff\x14\x22", 4, "call *(%rdx,%r12,1)"},
	{"\x42\xff\x54\x22\x20", 5, "call *0x20(%rdx,%r12,1)"},
	{"\x42\xff\x94\x22\x00\x40\x00\x00", 8, "call *0x4000(%rdx,%r12,1)"},
	{"\xff\x14\xc5\x00\x10\x00\x00", 7, "call *0x1000(,%rax,8)"},
	{"\x42\xff\x14\xdd\x00\x10\x00\x00", 8, "call *0x1000(,%r11,8)"},
	{"\xff\x14\x25\x00\x10\x60\x00", 7, "call *0x601000"},
	{"\xff\x15\x00\x20\x00\x00", 6, "call *0x2000(%rip)"},
	{"\x3e\xff\xd0", 3, "notrack call *%rax"},
	{"\x64\xff\x14\x25\x10\x00\x00\x00", 8, "call *%fs:0x10"},
	{"\x64\xff\x10", 3, "call *%fs:(%rax)"},
	{"\x67\xff\x10", 3, "addr32 call *(%eax)"},
	{"\xe8\x3b\x00\x00\x00", 5, "call .+64"},
	{"\xe8\xfb\xef\xff\xff", 5, "call .-4096"},
	{"\xf2\xe8\x3a\x00\x00\x00", 6, "bnd call .+64"},
};

static const struct code others[] = {
	{"\xff\xe0", 2, "jmp *%rax"},
	{"\x41\xff\xe3", 3, "jmp *%r11"},
	{"\xff\x20", 2, "jmp *(%rax)"},
	{"\xff\x63\x10", 3, "jmp *0x10(%rbx)"},
	{"\xff\xa1\x45\x23\x01\x00", 6, "jmp *0x12345(%rcx)"},
	{"\xff\x24\xd8", 3, "jmp *(%rax,%rbx,8)"},
	{"\xff\x64\xd8\x20", 4, "jmp *0x20(%rax,%rbx,8)"},
	{"\xff\x24\xc5\x00\x10\x00\x00", 7, "jmp *0x1000(,%rax,8)"},
	{"\xff\x25\x00\x20\x00\x00", 6, "jmp *0x2000(%rip)"},
	{"\xff\x30", 2, "push (%rax)"},
	{"\xff\x74\x24\x10", 4, "push 0x10(%rsp)"},
	{"\xff\xb3\x45\x23\x01\x00", 6, "push 0x12345(%rbx)"},
	{"\xff\x35\x00\x20\x00\x00", 6, "push 0x2000(%rip)"},
	{"\xe9\xfb\x0f\x00\x00", 5, "jmp .+0x1000"},
	{"\xeb\x00", 2, "jmp .+2"},
	{"\xc3", 1, "ret"},
	{"\x90", 1, "nop"},
	{"\x55", 1, "push %rbp"},
	{"\x48\x89\xe5", 3, "mov %rsp,%rbp"},
	{"\x48\x89\xc3", 3, "mov %rax,%rbx"},
	{"\xff\x00", 2, "incl (%rax)"},
	{"\xff\x09", 2, "decl (%rcx)"},
	{"\xff\x18", 2, "lcall *(%rax)"},
	{"\xff\x28", 2, "ljmp *(%rax)"},
	{"\x0f\x05", 2, "syscall"},
	{"\xcc", 1, "int3"},
	{"\xff\xc0", 2, "inc %eax"},
	{"\x48\xff\x42\x10", 4, "incq 0x10(%rdx)"},
	{"\x48\x8d\x58\x10", 4, "lea 0x10(%rax),%rbx"},
	{"\x0f\x84\xfa\x00\x00\x00", 6, "je .+0x100"},
	{"\x31\xc0", 2, "xor %eax,%eax"},
	{"\xf3\x0f\x1e\xfa", 4, "endbr64"},
	{"\xc9", 1, "leave"},
	{"\xf4", 1, "hlt"},
	{"\x0f\x0b", 2, "ud2"},
};
/* clang-format on */

/* The instruction as it ends the bytes before an address; others before it. */
static bool is_call(const struct code *code, int before)
{
	uint8_t bytes[ARCH_CALL_BYTES];

	memset(bytes, before, sizeof(bytes));
	memcpy(bytes + sizeof(bytes) - code->count, code->bytes, code->count);
	return arch_ends_with_call(bytes);
}

static void every_form_of_call_is_known(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (!is_call(&calls[i], 0x90) || !is_call(&calls[i], 0))
			fail_msg("%s is a call", calls[i].text);
	}
}

static void other_instructions_are_no_calls(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (is_call(&others[i], 0x90) || is_call(&others[i], 0))
			fail_msg("%s is no call", others[i].text);
	}
}

static void a_direct_call_tells_where_it_goes(void **state)
{
	static const struct {
		const char *bytes; /* 8 */
		uint64_t target;   /* of one that returns to 0x400000 */
	} told[] = {
		{"\x90\x90\x90\xe8\x00\x00\x00\x00", 0x400000},
		{"\x90\x90\x90\xe8\x3b\x00\x00\x00", 0x40003b},
		{"\x90\x90\x90\xe8\xfb\xef\xff\xff", 0x3feffb},
		{"\x90\x90\x90\xe8\xff\xff\xff\x7f", 0x803fffff},
		{"\x90\x90\x90\xe8\x00\x00\x00\x80", 0xffffffff80400000},
		{"\x90\x90\x90\xe9\x3b\x00\x00\x00", 0}, /* jmp */
		{"\x90\x90\xe8\x3b\x00\x00\x00\x90", 0},
		{"\x90\x90\xff\x15\x3b\x00\x00\x00", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++)
		assert_int_equal(arch_call_target((const uint8_t *)told[i].bytes, 0x400000),
				 told[i].target);
}

static void a_signals_registers_lie_where_the_kernel_puts_them(void **state)
{
	/* struct sigcontext: r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp */
	static const uint32_t order[] = {8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7};

	(void)state;
	for (uint32_t slot = 0; slot < 16; slot++)
		assert_int_equal(arch_context_slot(order[slot]), slot);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_form_of_call_is_known),
		cmocka_unit_test(other_instructions_are_no_calls),
		cmocka_unit_test(a_direct_call_tells_where_it_goes),
		cmocka_unit_test(a_signals_registers_lie_where_the_kernel_puts_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	puts("test_arch_x86: skipped, another processor");
	return 0;
}

#endif
