/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A window as a server takes it: cut into pieces between stacks, each within Pyroscope's limits.
 * Made by outputs (on the bulk worker), read again by who sends them.
 *
 * Limits, as measured with Pyroscope 2.2: 2 MiB a pprof before gzip (what is larger is refused for
 * ever), 16,000 stacks, 1,000 frames a stack, lines of folded text below 65,536 bytes. Deeper
 * stacks and longer lines keep the frames next to the leaf, below [truncated].
 */
#pragma once

#include "output/format/output.h"

/* Pieces: pprofs. */
extern const struct output upload_push;

/* Pieces: folded text, apart for each process where processes are labels
 * (PPROF_LABELS_PROCESS). */
extern const struct output upload_ingest;

/* Whose a piece is; "": of all, or not known. */
struct upload_whose {
	const char *process; /* "[pid]comm" */
	const char *container, *pod, *pod_namespace;
	const char *container_pid; /* where it isn't the pid */
};

struct upload_piece {
	struct upload_whose whose;
	const char *data;
	size_t bytes; /* 0: a stack that doesn't fit into any piece stood there, and is lost */
};

/* The piece at *at, which goes behind it. False: there's no more. All is borrowed of `content`. */
bool upload_piece_next(const struct buf *content, size_t *at, struct upload_piece *piece);
