/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of an uploaded window: series and labels of push.v1, names of /ingest. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "bpf/shared/probe.h"
#include "profile/view.h"
#include "session/upload_pieces.h"

#define PUSH_TARGET "/push.v1.PusherService/Push"
#define PUSH_TYPE   "application/proto"
#define INGEST_TYPE "text/plain"

struct upload_names {
	const char *service, *host;
	/* the last part of gala-gopher's names: a UUID, or what tells machines apart */
	const char *machine;
};

/* Writes a push.v1.PushRequest: one series, of a view of the probe, with one pprof. */
void push_request(struct buf *out, const struct upload_names *names, enum probe probe,
		  enum view view, const struct upload_piece *piece);

/*
 * Writes path and query of /ingest: gala-gopher's name of the probe, with a suffix that tells
 * servers its type. `period_ns` is the sampling period; times are ns since 1970.
 */
void ingest_target(struct buf *out, const struct upload_names *names, enum probe probe,
		   const struct upload_piece *piece, int64_t from, int64_t until,
		   uint64_t period_ns);

/* Writes the machine's UUID, else its id, else "": at most `bytes` with the NUL. */
void machine_id(char *id, size_t bytes);
