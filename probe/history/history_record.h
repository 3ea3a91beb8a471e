/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A record of history: the profile of a window, or of several, as bytes in a file.
 *
 *	"SPH1" | CRC-32 of the numbers | the numbers of struct history_head | the payload, packed
 *
 * All numbers are 64 bits, little endian. The payload is the columns of `.frames`, and of a record
 * of several windows how much each function's weight varied between these. It is packed by zlib,
 * whose check sum tells when it is damaged. Pure functions; any thread.
 */
#pragma once

#include "output/frames/frames_columns.h"

/* What is known of a record without its payload. Times are ns since 1970. */
struct history_head {
	uint64_t first, last; /* numbers of the first and the last window in it */
	int64_t from, until;
	int64_t begun;	      /* when the daemon started that collected it */
	uint64_t covered_ns;  /* length of its windows together: less than until - from with gaps */
	uint64_t squares_ms2; /* sum of the squares of these lengths, ms^2 */
	uint64_t windows;     /* number of them */
	uint64_t period_ns;   /* time that a sample stands for; 0: the weight isn't of samples */
	uint64_t is_state;    /* 1: what is held at `until`, not what came in a time */
	uint64_t weight, events, samples, left_out, lost, truncated, processes;
	uint64_t packed, raw; /* bytes of the payload, as it is in the file, and unpacked */
};

#define HISTORY_HEAD_NUMBERS (sizeof(struct history_head) / sizeof(uint64_t))
#define HISTORY_HEAD_BYTES   (8 + 8 * HISTORY_HEAD_NUMBERS)
#define HISTORY_PAYLOAD_MAX  (64u * 1024 * 1024)

/* Variation of a function's weight, kept to 0.6 %, between the windows of a record: (W * sum(w^2 /
 * length) / w_all^2
 * - 1), where W is the sum of lengths; 0: the same rate in each. */
struct history_variation {
	uint32_t frame; /* a frame of the function, in the payload */
	double self, total;
};

/* Adds to `sum` what `more` has. The first one is added to zeros. */
void history_head_add(struct history_head *sum, const struct history_head *more);

/*
 * Packs the payload of a tree into `out`, which is empty, and tells its sizes in `head`.
 * `variations`: of `count` functions, whose frames are numbers of the columns. Returns 0, -ENOMEM
 * or -ENOSPC.
 */
int history_pack(struct buf *out, struct history_head *head, const struct frames_columns *columns,
		 const struct history_variation *variations, size_t count);

/* Adds what stands in a file before the payload. */
void history_head_write(struct buf *out, const struct history_head *head);

/* Reads a head of HISTORY_HEAD_BYTES bytes. Returns 0, or -EBADMSG. */
int history_head_read(const char *bytes, struct history_head *head);

/* An unpacked payload. */
struct history_payload {
	struct buf raw;
	struct frames_slice columns[FRAMES_COLUMNS];
	uint32_t frames, nodes;
	struct frames_slice variations; /* to be read by history_variation_next() */
	uint64_t variations_left;
};

/*
 * Unpacks the payload that belongs to a head. Returns 0, -ENOMEM, or -EBADMSG.
 * history_payload_done() is called in any case.
 */
int history_unpack(struct history_payload *ret, const struct history_head *head,
		   const char *packed);
void history_payload_done(struct history_payload *payload);

/* Reads the next variation. Returns false if there are no more. */
bool history_variation_next(struct history_payload *payload, struct history_variation *variation);
