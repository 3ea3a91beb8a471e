/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What runtimes keep on disk: files below a root, read as hostile, and what is taken from them.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "container/container.h"

#define STATE_PATH_BYTES 512
#define STATE_JSON_MAX	 (1 << 20)   /* of one container; parsed it may have 40 times as much */
#define STATE_USERS_MAX	 (256 << 10) /* where a user says it */

/* Where a runtime's state lies: below the host's root, links of which are followed; or, of a user's
 * own, below the user's folder, and no link is. */
struct state_root {
	int fd;	     /* O_PATH */
	int host_fd; /* the host's root, which it may be */
	uid_t user;  /* whose; 0: the host's */
};

/* What was found out of a container; "": isn't known. */
struct container_names {
	char name[CONTAINER_NAME_MAX];
	char pod[CONTAINER_NAME_MAX];
	char pod_namespace[CONTAINER_NAME_MAX];
	char image[CONTAINER_IMAGE_MAX];
	char pod_uid[CONTAINER_ID_BYTES];
	bool pod_known; /* its name is there, and isn't looked for */
};

/* A folder as a root of its own; as state_open() else. O_PATH. */
int state_folder(const struct state_root *root, const char *path);

/* A regular file, for reading; whatever else lies there isn't even opened: -EINVAL. */
int state_open(const struct state_root *root, const char *path);

/* A socket, as O_PATH. -EINVAL: something else lies there, or somebody else's. */
int state_socket(const struct state_root *root, const char *path);

/* A file whole, which has `max` bytes at most. -EFBIG */
int state_read(const struct state_root *root, const char *path, size_t max, struct buf *ret);

/* How much JSON is parsed at once. */
static inline size_t state_json_max(const struct state_root *root)
{
	return root->user ? STATE_USERS_MAX : STATE_JSON_MAX;
}

/* NULL: it isn't JSON, or has a text with a NUL. */
cJSON *state_parse(const char *text, size_t len);

/* A file that has JSON; NULL: it can't be read, is too large, or isn't an object. */
cJSON *state_json(const struct state_root *root, const char *path);
static inline void state_json_freep(cJSON **json)
{
	cJSON_Delete(*json);
}
#define _cleanup_json_ _cleanup_(state_json_freep)

/* The text that a member has; NULL: none. `json` may be NULL. */
const char *state_text(const cJSON *json, const char *member);

/* Of the objects in a list, which `text` is, that whose "id" this is; the others aren't parsed, nor
 * what has more than `max` bytes. NULL: it isn't there. */
cJSON *state_find(const char *text, size_t len, const char *id, size_t max);

/* Takes a name that a runtime can have given: UTF-8 without control characters, no '/', not "." or
 * "..", shorter than `bytes`. `text` may be NULL. The name stays as it was otherwise: false */
bool state_take_name(char *name, size_t bytes, const char *text);

/* The same of an image's, which may have '/'. */
bool state_take_image(char image[CONTAINER_IMAGE_MAX], const char *text);

/* A pod's UID: of hexadecimal digits and hyphens. */
bool state_take_uid(char uid[CONTAINER_ID_BYTES], const char *text);

/* 64 digits, as each of these runtimes gives it. */
bool state_is_id(const char *id);
