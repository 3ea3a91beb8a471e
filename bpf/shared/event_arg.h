/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An argument of an event whose value is a leaf frame (bpf/event.bpf.c, probe/probes/event.c):
 * where it is, in one word, and the part of a stack that stands for its value. Small values are
 * told apart, larger ones by powers of two, so that a window has room for all.
 */
#pragma once

#ifndef __bpf__
#include <stdint.h>
#endif

/* What is counted of hits, whatever process they are of. */
enum event_hit {
	EVENT_HIT,
	EVENT_HIT_RETURNING, /* of a session's: those whose return is probed as well */
	EVENT_HIT_COUNTS
};

enum event_arg_place {
	EVENT_ARG_NONE,
	EVENT_ARG_CONSTANT, /* the number itself */
	EVENT_ARG_REGISTER, /* at an offset in the registers; of a tracepoint, in its arguments */
	EVENT_ARG_MEMORY,   /* at the number behind what that register has */
};

/* Bits of the word: the place; log2 of its bytes; whether it has a sign; where the register is, in
 * words of 8 bytes; the number (int32_t). 0: no argument. */
#define EVENT_ARG(place, log_bytes, is_signed, word, number)                                       \
	((uint64_t)(place) | (uint64_t)(log_bytes) << 2 | (uint64_t)((is_signed) != 0) << 4 |      \
	 (uint64_t)(word) << 8 | (uint64_t)(uint32_t)(number) << 32)
#define EVENT_ARG_PLACE(arg)  ((arg)&3)
#define EVENT_ARG_BYTES(arg)  (1U << ((arg) >> 2 & 3))
#define EVENT_ARG_SIGNED(arg) ((arg) >> 4 & 1)
#define EVENT_ARG_AT(arg)     (((arg) >> 8 & 63) * 8)
#define EVENT_ARG_NUMBER(arg) ((int64_t)(int32_t)((arg) >> 32))

/* Parts: of values from 0 on, of those from -1 down, of powers of two, of all below. */
#define EVENT_VALUES	     4096
#define EVENT_NEGATIVES	     4096
#define EVENT_POWER_LEAST    12 /* 1 << 12 = EVENT_VALUES */
#define EVENT_PART_VALUES    1
#define EVENT_PART_NEGATIVES (EVENT_PART_VALUES + EVENT_VALUES)
#define EVENT_PART_POWERS    (EVENT_PART_NEGATIVES + EVENT_NEGATIVES)
#define EVENT_PART_BELOW     (EVENT_PART_POWERS + 64)
