/* SPDX-License-Identifier: GPL-2.0-only */
/* Which page or feature answers a request. */
#pragma once

#include "api/feature.h"

/* A request whose body is there; all is borrowed. */
struct call {
	const struct services *services;
	const char *path, *method;
	struct query query;
	struct buf *body; /* of a PUT; changed */
	struct answer *answer;
	void (*ready)(void *arg); /* called later where the answer's status stays 0 */
	void *arg;
};

/* Fills the answer, or leaves its status 0. */
void call_dispatch(const struct call *call);
