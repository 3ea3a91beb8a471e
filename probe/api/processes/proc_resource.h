/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The feature /proc over HTTP: PUT, GET and the resources below it (api/feature/feature.h). */
#pragma once

#include "api/feature/feature.h"
#include "api/processes/proc_output.h"

extern const struct rules proc_rules;

void proc_put(const struct services *services, char *data, size_t bytes, struct answer *answer,
	      void (*ready)(void *arg), void *arg);
void proc_get(const struct services *services, struct answer *answer);
void proc_fetch(const struct services *services, const char *name, const struct query *query,
		struct answer *answer, void (*ready)(void *arg), void *arg);
void proc_need(const char *name, const struct query *query, struct need *need);
void proc_save(const struct services *services, struct json *json);
uint32_t proc_begins(char *data, size_t bytes);
int proc_restore(const struct services *services, const cJSON *saved, bool same_boot,
		 struct why *why);

/*
 * Creates a stream of measurements, one behind the other (api/processes/proc_intervals.c); the
 * caller owns *ret. `write` writes one; of `json` each becomes a line. Returns 0, or a negative
 * errno as accounting_read(), with a sentence in `why`.
 */
int proc_intervals_new(struct stream **ret, struct accounting *accounting,
		       const struct cost_asking *asking, const struct proc_choice *choice,
		       const struct proc_form *form, struct why *why);
