/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The feature /proc over HTTP: PUT, GET and the resources below it (api/feature/feature.h). */
#pragma once

#include "api/feature/feature.h"

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
