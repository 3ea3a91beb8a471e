/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The feature /flamegraph; see struct feature. Loop thread only. */
#pragma once

#include "api/feature/feature.h"
#include "api/request/request.h"

extern const struct rules flamegraph_rules;

void flamegraph_put(const struct services *services, char *data, size_t bytes,
		    struct answer *answer, void (*ready)(void *arg), void *arg);

/*
 * The steps of a PUT (api/resource/puts.h). flamegraph_read() reads the body on top of the present
 * configuration into `spec`, whose `folders` are still to be checked; returns false if the answer
 * is filled in. flamegraph_apply() applies `spec`; ready() as in struct feature.
 */
bool flamegraph_read(const struct services *services, char *data, size_t bytes, struct spec *spec,
		     struct request_folders *folders, struct answer *answer);
void flamegraph_apply(const struct services *services, const struct spec *spec,
		      struct answer *answer, void (*ready)(void *arg), void *arg);

/* Fills in the answer to a PUT that is refused. */
void flamegraph_refuse(struct answer *answer, unsigned status, const char *message);

void flamegraph_get(const struct services *services, struct answer *answer);
void flamegraph_fetch(const struct services *services, const char *name, const struct query *query,
		      struct answer *answer, void (*ready)(void *arg), void *arg);
void flamegraph_need(const char *name, const struct query *query, struct need *need);
void flamegraph_save(const struct services *services, struct json *json);
uint32_t flamegraph_begins(char *data, size_t bytes);
int flamegraph_restore(const struct services *services, const cJSON *saved, bool same_boot,
		       struct why *why);
