/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens, reads and parses the files of runtimes' state below a root folder, and checks names from
 * them. All files are hostile. May hang: in a job.
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
#define STATE_JSON_MAX	 (1 << 20)   /* bytes of a container's JSON; parsed 40 times as many */
#define STATE_USERS_MAX	 (256 << 10) /* bytes of JSON in a user's files */

/* The folder below which a runtime's state lies: the host's root folder, where links are followed
 * (but not out of it); or a user's home, where no link is followed. */
struct state_root {
	int fd;	     /* the folder, O_PATH */
	int host_fd; /* the host's root folder; may be `fd` */
	uid_t user;  /* the home's owner; 0: `fd` is the host's root folder */
};

/* The names of a container that were found; "": not known. */
struct container_names {
	char name[CONTAINER_NAME_MAX];
	char pod[CONTAINER_NAME_MAX];
	char pod_namespace[CONTAINER_NAME_MAX];
	char image[CONTAINER_IMAGE_MAX];
	char pod_uid[CONTAINER_ID_BYTES];
	bool pod_known; /* the pod's name is filled in already and isn't looked for */
};

/* The three functions that open return a descriptor, which the caller owns, or a negative errno:
 * -EINVAL if `path` leads to something of another kind or, in a user's home, of another owner. */

/* Opens a folder as O_PATH. */
int state_folder(const struct state_root *root, const char *path);

/* Opens a regular file for reading, by proc/foreign.h. */
int state_open(const struct state_root *root, const char *path);

/* Opens a socket as O_PATH. */
int state_socket(const struct state_root *root, const char *path);

/* Reads a whole file. Returns 0, or a negative errno: as state_open(); -EFBIG if the file has more
 * than `max` bytes. */
int state_read(const struct state_root *root, const char *path, size_t max, struct buf *ret);

/* Returns how many bytes of JSON are parsed at once. */
static inline size_t state_json_max(const struct state_root *root)
{
	return root->user ? STATE_USERS_MAX : STATE_JSON_MAX;
}

/* Parses JSON; NULL: the text isn't JSON, or has a string with a NUL. The caller owns the result.
 */
cJSON *state_parse(const char *text, size_t len);

/* Reads and parses a file; NULL: the file can't be read, is too large, or is no JSON object. The
 * caller owns the result. */
cJSON *state_json(const struct state_root *root, const char *path);
static inline void state_json_freep(cJSON **json)
{
	cJSON_Delete(*json);
}
#define _cleanup_json_ _cleanup_(state_json_freep)

/* Returns the string of a member, borrowed from `json` (may be NULL); NULL: there is none. */
const char *state_text(const cJSON *json, const char *member);

/* Finds the object with this "id" in a list of objects (`text`). Objects without the text of `id`
 * or with more than `max` bytes aren't parsed. NULL: not found. The caller owns the result. */
cJSON *state_find(const char *text, size_t len, const char *id, size_t max);

/* Copies a name that a runtime can have given: UTF-8 without control characters, without '/', not
 * "." or "..", shorter than `bytes`. Returns false for any other text (may be NULL); `name` is
 * unchanged then. */
bool state_take_name(char *name, size_t bytes, const char *text);

/* Copies an image's name like state_take_name(), but '/' is allowed. */
bool state_take_image(char image[CONTAINER_IMAGE_MAX], const char *text);

/* Copies a pod's UID like state_take_name(): lower-case hexadecimal digits and hyphens. */
bool state_take_uid(char uid[CONTAINER_ID_BYTES], const char *text);

/* Returns whether `id` has 64 hexadecimal digits, as each of these runtimes gives it. */
bool state_is_id(const char *id);
