/* SPDX-License-Identifier: GPL-2.0-only */
/* Which page or feature answers a request. */
#pragma once

#include "api/feature/feature.h"

/* A request whose body is there; all is borrowed. */
struct call {
	const struct services *services;
	const char *path, *method;
	struct query query;
	const struct caller *caller; /* who asks; what it takes is within the role */
	struct buf *body;	     /* of a PUT; changed */
	struct answer *answer;
	void (*ready)(void *arg); /* called later where the answer's status stays 0 */
	void *arg;
};

/* What the call takes; the caller and the body aren't looked at. */
void call_need(const struct call *call, struct need *need);

/* Whether it is one of the pages that everybody may have: /metrics, /healthz. */
bool call_is_page(const struct call *call);

/* Whether it is a PUT of a feature, which changes what answers say and has a body. */
bool call_is_put(const struct call *call);

/* Fills the answer, or leaves its status 0. */
void call_dispatch(const struct call *call);
