/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The feature /sched; see struct feature. Loop thread only. */
#pragma once

#include "api/feature/feature.h"
#include "api/request/request.h"

extern const struct rules sched_rules;

void sched_put(const struct services *services, char *data, size_t bytes, struct answer *answer,
	       void (*ready)(void *arg), void *arg);
void sched_get(const struct services *services, struct answer *answer);
void sched_fetch(const struct services *services, const char *name, const struct query *query,
		 struct answer *answer, void (*ready)(void *arg), void *arg);
void sched_need(const char *name, const struct query *query, struct need *need);
void sched_save(const struct services *services, struct json *json);
uint32_t sched_begins(char *data, size_t bytes);
int sched_restore(const struct services *services, const cJSON *saved, bool same_boot,
		  struct why *why);

/*
 * Creates a stream of measurements (api/resource/sched_intervals.c), each as text or as JSON; the
 * caller owns *ret. `asking` needs no done(). Errors as sched_wait().
 */
int sched_intervals_new(struct stream **ret, struct sched *sched, const struct sched_asking *asking,
			bool json, struct why *why);

/*
 * Creates a stream of a probe's events as lines (api/resource/sched_stream.c); the caller owns
 * *ret. Returns 0, or -ENOENT, -EBUSY or -ENOMEM as sched_follow().
 */
int sched_stream_new(struct stream **ret, struct sched *sched, enum sched_probe probe);
