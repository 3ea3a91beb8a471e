/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Outputs for uploads: cut a window between stacks into pieces within Pyroscope's limits. The
 * outputs run in jobs of the bulk worker; the sender reads the pieces again.
 *
 * Limits, measured with Pyroscope 2.2: 2 MiB a pprof before gzip (a larger one is refused for
 * ever), 16,000 stacks, 1,000 frames a stack, lines of folded text below 65,536 bytes. Deeper
 * stacks and longer lines keep the frames next to the leaf, below [truncated].
 */
#pragma once

#include "output/format/output.h"

/* Its pieces are pprofs. */
extern const struct output upload_push;

/*
 * Its pieces are folded text, one for each process where processes are labels
 * (PPROF_LABELS_PROCESS).
 */
extern const struct output upload_ingest;

/* The labels of a piece; "": of all processes, or not known. */
struct upload_whose {
	const char *process; /* "[pid]comm" */
	const char *container, *pod, *pod_namespace;
	const char *container_pid; /* if it differs from the pid */
};

struct upload_piece {
	struct upload_whose whose;
	const char *data;
	size_t bytes; /* 0: stands for a lost stack that was too large for a piece */
};

/*
 * Reads the piece at *at and moves *at behind it; all is borrowed from `content`. Returns false if
 * there is no more.
 */
bool upload_piece_next(const struct buf *content, size_t *at, struct upload_piece *piece);
