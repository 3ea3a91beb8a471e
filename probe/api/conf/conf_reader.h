/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internal to the room: the reader that api/conf/conf.c (the file and its sections) and
 * api/conf/conf_reader.c (kinds of values) share. No other room includes this header. */
#pragma once

#include <libconfig.h>

#include "api/conf/conf.h"

struct conf_reader {
	struct conf *conf;
	struct why *why;
};

/* A key: its path, and the function that takes its value. The tables of keys are all that the file
 * may hold. */
struct conf_key {
	const char *path;
	int (*take)(struct conf_reader *reader, const config_setting_t *setting);
};

/* Writes the reason "line 3: port must be …". Returns -EINVAL. */
int conf_refuse(struct conf_reader *reader, const config_setting_t *setting, const char *wanted);

/* Take a value into the conf. Return 0, or -EINVAL with the reason, or -ENOMEM. */
int conf_take_path(struct conf_reader *reader, const config_setting_t *setting, char **path);
int conf_take_size(struct conf_reader *reader, const config_setting_t *setting, uint32_t *size,
		   int min, int max);
int conf_take_bool(struct conf_reader *reader, const config_setting_t *setting, uint32_t *to);

/* Takes a number that may have more than 32 bits (written with an L then). Returns as above. */
int conf_take_long(struct conf_reader *reader, const config_setting_t *setting, int64_t *number,
		   int64_t min, int64_t max);

/* Keys of the section `upload` (api/conf/conf_upload.c). */
#define CONF_UPLOAD_KEYS 14
extern const struct conf_key conf_upload_keys[CONF_UPLOAD_KEYS];

/* Keys of the section `rest_api_server` (api/conf/conf_rest.c). */
#define CONF_REST_KEYS 17
extern const struct conf_key conf_rest_keys[CONF_REST_KEYS];

/* Checks, after all keys were read, the options of `upload` that depend on others, and whether
 * their files can be used. Returns 0, or a negative errno; the reason is in `why`, unless it is
 * -ENOMEM. */
int conf_settle_upload(struct conf *conf, struct why *why);
