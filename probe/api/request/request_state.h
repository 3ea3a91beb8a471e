/* SPDX-License-Identifier: GPL-2.0-only */
/* What api/request/request.c (the whole), request_body.c (its text), request_snoopers.c,
 * request_containers.c and request_params.c share. Nobody else includes it. */
#pragma once

#include <cjson/cJSON.h>

#include "api/request/request.h"

struct request {
	const struct rules *rules;
	const struct bounds *bounds;
	char *message;
	struct spec *spec;
	struct request_folders folders; /* of this body */
};

/* The message, for people; -EINVAL. */
int request_refuse(const struct request *request, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The message; -ENOMEM. */
int request_no_memory(const struct request *request);

/* An object's member, or NULL. Of keys that come twice the last one counts, as it always did. */
const cJSON *request_member(const cJSON *object, const char *name);

/* Names of probes -> 1 << number. -EINVAL: refused. */
int request_take_probes(const struct request *request, const cJSON *list, uint32_t *probes);

/* Parts of a body into the spec. 0, or what the body is refused by: -EINVAL, -ENOMEM. */
int request_take_snoopers(struct request *request, const cJSON *snoopers);
int request_take_containers(struct request *request, const cJSON *snoopers);
int request_take_params(struct request *request, const cJSON *values);

/* Whether the folders that the params name are below the roots, by their paths alone. 0, -EINVAL */
int request_check_folders(const struct request *request);

/* The JSON in a body, or NULL. Raw JSON may hold '%' and '+' in patterns: it is raw if it begins as
 * JSON does. `data` is changed, and has room for a byte more. */
char *request_find_json(char *data, size_t bytes);
