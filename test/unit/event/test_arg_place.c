// SPDX-License-Identifier: GPL-2.0-or-later
/* Where an event's argument is: by the calling convention, and as notes of static probes say. */
#include "unit/lib/unit.h"

#include "bpf/shared/event_arg.h"
#include "event/arg_place.h"

#if defined(__x86_64__)

#include <stddef.h>
#include <sys/user.h>

/* As the kernel has them, and ptrace(2) gives them. */
#define WORD(reg) (offsetof(struct user_regs_struct, reg) / 8)

static void check_note(const char *note, unsigned number, uint64_t expected)
{
	if (arg_place_noted(note, number) != expected)
		fail_msg("%s, %u: %#llx", note, number,
			 (unsigned long long)arg_place_noted(note, number));
}

static void arguments_of_functions_are_in_registers(void **state)
{
	static const size_t words[] = {WORD(rdi), WORD(rsi), WORD(rdx),
				       WORD(rcx), WORD(r8),  WORD(r9)};
	struct event_text event = {.type = EVENT_USER, .arg_bytes = -4};

	(void)state;
	assert_int_equal(arg_place_of(&event), 0);
	for (event.arg = 1; event.arg <= ARRAY_SIZE(words); event.arg++)
		assert_int_equal(arg_place_of(&event),
				 EVENT_ARG(EVENT_ARG_REGISTER, 2, true, words[event.arg - 1], 0));
	assert_int_equal(arg_place_of(&event), 0);
}

static void arguments_of_tracepoints_are_words(void **state)
{
	struct event_text event = {.type = EVENT_TRACEPOINT, .arg = 2, .arg_bytes = 8};

	(void)state;
	assert_int_equal(arg_place_of(&event), EVENT_ARG(EVENT_ARG_REGISTER, 3, false, 1, 0));
}

static void a_note_names_registers_constants_and_memory(void **state)
{
	const char *note = "-4@%edi 8@-8(%rbp) 1@$7 -2@%r15w 8@(%rax) 1@$-5 4@%sil";

	(void)state;
	check_note(note, 1, EVENT_ARG(EVENT_ARG_REGISTER, 2, true, WORD(rdi), 0));
	check_note(note, 2, EVENT_ARG(EVENT_ARG_MEMORY, 3, false, WORD(rbp), -8));
	check_note(note, 3, EVENT_ARG(EVENT_ARG_CONSTANT, 0, false, 0, 7));
	check_note(note, 4, EVENT_ARG(EVENT_ARG_REGISTER, 1, true, WORD(r15), 0));
	check_note(note, 5, EVENT_ARG(EVENT_ARG_MEMORY, 3, false, WORD(rax), 0));
	check_note(note, 6, EVENT_ARG(EVENT_ARG_CONSTANT, 0, false, 0, -5));
	check_note(note, 7, EVENT_ARG(EVENT_ARG_REGISTER, 2, false, WORD(rsi), 0));
	check_note(note, 8, 0);
}

static void what_is_somewhere_else_is_not_read(void **state)
{
	static const char *const notes[] = {
		"",
		" ",
		"8",
		"8@",
		"8@%",
		"8@%eflags",
		"3@%rdi",
		"8@x(%rip)",
		"8@8(%rax,%rbx,4)",
		"8@%xmm0",
		"8@$x",
		"8@$",
		"8@4(%rax",
		"8@4%rax)",
		"@%rdi",
		"8@99999999999(%rax)",
		"8@%rdix",
		"8@0000000000000000000000000000000000000000000000000000000000000000(%rax)"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(notes); i++)
		check_note(notes[i], 1, 0);
	check_note("8@%rdi", 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_of_functions_are_in_registers),
		cmocka_unit_test(arguments_of_tracepoints_are_words),
		cmocka_unit_test(a_note_names_registers_constants_and_memory),
		cmocka_unit_test(what_is_somewhere_else_is_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	puts("test_arg_place: skipped, another processor");
	return 0;
}

#endif
