/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where an event's argument is (bpf/shared/event_arg.h): by the calling convention, or as a static
 * probe's note tells, in the assembler's words.
 *
 * Source: System V ABI, AMD64 and AArch64; SystemTap's sys/sdt.h for the notes; the kernel's
 * asm/ptrace.h for the registers' places.
 */
#pragma once

#include <stdint.h>

#include "event/event_text.h"

/* Returns where an argument of a function or tracepoint is; 0: none is asked for, or it isn't in a
 * register. */
uint64_t arg_place_of(const struct event_text *event);

/*
 * Returns where the argument of a static probe is that its note tells: "-4@%edi 8@-8(%rbp)";
 * `number` from 1 on. 0: there is none of that number, or it is somewhere else than in a register,
 * a constant, or memory at a register.
 */
uint64_t arg_place_noted(const char *note, unsigned number);
