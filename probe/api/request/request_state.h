/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internal to the room: the state that request.c (the whole body), request_body.c (its text),
 * request_snoopers.c, request_containers.c and request_params.c share. No other room includes this
 * header. */
#pragma once

#include <cjson/cJSON.h>

#include "api/request/request.h"

struct request {
	const struct rules *rules;
	const struct bounds *bounds;
	struct why *why;
	struct notes *notes; /* NULL: nobody wants them */
	struct spec *spec;
	const struct params *before;	/* params in force; NULL: none */
	struct request_folders folders; /* folders that this body names */
};

/* Writes the message, for people. Returns -EINVAL. */
int request_refuse(const struct request *request, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Makes a message that another room wrote valid UTF-8. */
void request_repair(const struct request *request);

/* Writes the message. Returns -ENOMEM. */
int request_no_memory(const struct request *request);

/* Keys that an object may have: ours, and others that mean nothing here and are no mistake. */
struct known_keys {
	const char *const *keys;
	size_t count;
	const char *const *silent;
	size_t silent_count;
};

/* Warns of each other key. */
void request_check_keys(const struct request *request, const char *where, const cJSON *object,
			const struct known_keys *known);

/* Returns an object's member, or NULL. Of a key that comes twice the last member counts. */
const cJSON *request_member(const cJSON *object, const char *name);

/* Reads names of probes into a mask of 1 << number. Returns 0, or -EINVAL if the list is
 * refused. */
int request_take_probes(const struct request *request, const cJSON *list, uint32_t *probes);

/* Read parts of a body into the spec. Return 0, or -EINVAL or -ENOMEM with the message written. */
int request_take_snoopers(struct request *request, const cJSON *snoopers);
int request_take_containers(struct request *request, const cJSON *snoopers);
int request_take_params(struct request *request, const cJSON *values);

/* Reads params.events, before the names of probes: some of these are theirs. */
int request_take_events(struct request *request, const cJSON *values);

/* Takes probes away that no params name any more. Returns 0, or -EINVAL if a snooper names one. */
int request_settle_events(struct request *request);

/* Checks whether the folders that the body names lie below the roots, by their paths alone. Returns
 * 0 or -EINVAL. */
int request_check_folders(const struct request *request);

/* Returns the JSON in a body, or NULL. A body is raw JSON if it begins as JSON does, for raw JSON
 * may hold '%' and '+' in patterns. `data` is changed, and has room for one more byte. */
char *request_find_json(char *data, size_t bytes);
