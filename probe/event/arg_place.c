// SPDX-License-Identifier: GPL-2.0-or-later
#include "event/arg_place.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bpf/shared/event_arg.h"

#if defined(__aarch64__)

#define SP_WORD 31

static const uint8_t arguments[] = {0, 1, 2, 3, 4, 5, 6, 7};

/* Reads a register's name. Returns its word among the registers, or -1. */
static int register_word(const char *name, size_t len)
{
	char *end;

	if (len == 2 && memcmp(name, "sp", 2) == 0)
		return SP_WORD;
	if (len < 2 || (name[0] != 'x' && name[0] != 'w'))
		return -1;
	long number = strtol(name + 1, &end, 10);
	return end == name + len && number >= 0 && number <= 30 ? (int)number : -1;
}

/* "x0"; "[sp, 8]" or "[x0]"; "5" */
static uint64_t place_of_operand(const char *operand, unsigned log_bytes, bool is_signed)
{
	char *end;

	if (operand[0] == '[') {
		size_t len = strcspn(operand + 1, ",]");
		int word = register_word(operand + 1, len);
		const char *rest = operand + 1 + len;
		long offset = *rest == ',' ? strtol(rest + 1, &end, 10) : 0;

		if (*rest == ',')
			rest = end;
		return word < 0 || *rest != ']'
			       ? 0
			       : EVENT_ARG(EVENT_ARG_MEMORY, log_bytes, is_signed, word, offset);
	}
	int word = register_word(operand, strlen(operand));
	if (word >= 0)
		return EVENT_ARG(EVENT_ARG_REGISTER, log_bytes, is_signed, word, 0);
	long number = strtol(operand, &end, 10);
	return end == operand || *end
		       ? 0
		       : EVENT_ARG(EVENT_ARG_CONSTANT, log_bytes, is_signed, 0, number);
}

#else

/* Words of the kernel's struct pt_regs, in their order, and the parts of each register. */
static const struct {
	const char *names[4];
} registers[] = {
	{{"r15", "r15d", "r15w", "r15b"}},
	{{"r14", "r14d", "r14w", "r14b"}},
	{{"r13", "r13d", "r13w", "r13b"}},
	{{"r12", "r12d", "r12w", "r12b"}},
	{{"rbp", "ebp", "bp", "bpl"}},
	{{"rbx", "ebx", "bx", "bl"}},
	{{"r11", "r11d", "r11w", "r11b"}},
	{{"r10", "r10d", "r10w", "r10b"}},
	{{"r9", "r9d", "r9w", "r9b"}},
	{{"r8", "r8d", "r8w", "r8b"}},
	{{"rax", "eax", "ax", "al"}},
	{{"rcx", "ecx", "cx", "cl"}},
	{{"rdx", "edx", "dx", "dl"}},
	{{"rsi", "esi", "si", "sil"}},
	{{"rdi", "edi", "di", "dil"}},
	{{NULL}}, /* orig_rax */
	{{NULL}},
	{{NULL}}, /* rip, cs */
	{{NULL}}, /* flags */
	{{"rsp", "esp", "sp", "spl"}},
};

/* rdi, rsi, rdx, rcx, r8, r9 */
static const uint8_t arguments[] = {14, 13, 12, 11, 9, 8};

/* Reads a register's name, without its %. Returns its word among the registers, or -1. */
static int register_word(const char *name, size_t len)
{
	for (size_t word = 0; word < ARRAY_SIZE(registers); word++) {
		for (int part = 0; part < 4; part++) {
			const char *its = registers[word].names[part];

			if (its && strlen(its) == len && memcmp(its, name, len) == 0)
				return (int)word;
		}
	}
	return -1;
}

/* "%rdi"; "$5"; "-8(%rbp)" or "(%rax)" */
static uint64_t place_of_operand(const char *operand, unsigned log_bytes, bool is_signed)
{
	char *end;

	if (operand[0] == '%') {
		int word = register_word(operand + 1, strlen(operand + 1));

		return word < 0 ? 0 : EVENT_ARG(EVENT_ARG_REGISTER, log_bytes, is_signed, word, 0);
	}
	bool is_constant = operand[0] == '$';
	const char *number_at = operand + is_constant;
	long number = strtol(number_at, &end, 10);
	if (is_constant)
		return end == number_at || *end
			       ? 0
			       : EVENT_ARG(EVENT_ARG_CONSTANT, log_bytes, is_signed, 0, number);
	if (strncmp(end, "(%", 2) != 0)
		return 0;
	size_t len = strcspn(end + 2, "),");
	int word = register_word(end + 2, len);
	return word < 0 || strcmp(end + 2 + len, ")") != 0 || number != (int32_t)number
		       ? 0
		       : EVENT_ARG(EVENT_ARG_MEMORY, log_bytes, is_signed, word, number);
}

#endif

static unsigned log_of(int bytes)
{
	return bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3;
}

uint64_t arg_place_of(const struct event_text *event)
{
	unsigned log_bytes = log_of(abs(event->arg_bytes));
	bool is_signed = event->arg_bytes < 0;

	if (!event->arg)
		return 0;
	if (event->type == EVENT_TRACEPOINT)
		return EVENT_ARG(EVENT_ARG_REGISTER, log_bytes, is_signed, event->arg - 1, 0);
	return event->arg > ARRAY_SIZE(arguments)
		       ? 0
		       : EVENT_ARG(EVENT_ARG_REGISTER, log_bytes, is_signed,
				   arguments[event->arg - 1], 0);
}

/* Finds an argument of a note. arm64's "[sp, 8]" has a space within. */
static const char *find_noted(const char *note, unsigned number, size_t *len)
{
	for (const char *at = note; *at;) {
		size_t n = 0;
		bool within = false;

		for (; at[n] && (within || at[n] != ' '); n++)
			within = at[n] == '[' || (within && at[n] != ']');
		if (--number == 0) {
			*len = n;
			return at;
		}
		at += n + strspn(at + n, " ");
	}
	return NULL;
}

uint64_t arg_place_noted(const char *note, unsigned number)
{
	size_t len = 0;
	const char *found = find_noted(note, number, &len);
	char text[64], *end;

	if (!found || len >= sizeof(text))
		return 0;
	memcpy(text, found, len);
	text[len] = '\0';
	long bytes = strtol(text, &end, 10);
	long size = labs(bytes);
	if (*end != '@' || (size != 1 && size != 2 && size != 4 && size != 8))
		return 0;
	return place_of_operand(end + 1, log_of((int)size), bytes < 0);
}
