/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions for unit tests of probe/flow, in assembly: CODE(name, "…") makes the bytes from name_
 * to name_end_, which nobody executes. Rows are told as text, as in unit/cfi/cfi_maker.h.
 */
#pragma once

#include "unit/cfi/cfi_maker.h"

#include "flow/flow.h"

#define CODE(name, text)                                                                           \
	__asm__(".section .rodata\n.balign 64\n" #name "_:\n" text "\n" #name                      \
		"_end_: nop\n.previous\n");                                                        \
	extern const uint8_t name##_[], name##_end_[]

#define BYTES_OF(name) name##_, (size_t)(name##_end_ - name##_)

static inline int say_row(void *arg, uint64_t address, const struct rule *rule)
{
	struct rows_text *rows = arg;

	rows_say(rows, "%s%llx", rows->len ? ", " : "", (unsigned long long)address & 0xffff);
	if (rule->kind == RULE_FRAMES)
		rows_say(rows, " frames");
	else
		rows_rule(rows, rule);
	return 0;
}
