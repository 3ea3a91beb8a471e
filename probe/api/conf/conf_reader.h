/* SPDX-License-Identifier: GPL-2.0-only */
/* What api/conf/conf.c (the file and its sections) and api/conf/conf_reader.c (kinds of values)
 * share. Nobody else includes it. */
#pragma once

#include <libconfig.h>

#include "api/conf/conf.h"

struct conf_reader {
	struct conf *conf;
	char *why;
	size_t why_bytes;
};

/* A key: its path and what takes it. The tables are all that the file may hold. */
struct conf_key {
	const char *path;
	int (*take)(struct conf_reader *reader, const config_setting_t *setting);
};

/* "line 3: port must be …" as the reason; -EINVAL. */
int conf_refuse(struct conf_reader *reader, const config_setting_t *setting, const char *wanted);

/* Each takes a value into the conf: 0, or -EINVAL with the reason, or -ENOMEM. */
int conf_take_path(struct conf_reader *reader, const config_setting_t *setting, char **path);
int conf_take_size(struct conf_reader *reader, const config_setting_t *setting, uint32_t *size,
		   int min, int max);
int conf_take_bool(struct conf_reader *reader, const config_setting_t *setting, uint32_t *to);

/* A number that may be larger than 32 bits hold (written with an L, then). */
int conf_take_long(struct conf_reader *reader, const config_setting_t *setting, int64_t *number,
		   int64_t min, int64_t max);

/* The section `upload` (api/conf/conf_upload.c). */
#define CONF_UPLOAD_KEYS 14
extern const struct conf_key conf_upload_keys[CONF_UPLOAD_KEYS];

/* The section `rest_api_server` (api/conf/conf_rest.c). */
#define CONF_REST_KEYS 17
extern const struct conf_key conf_rest_keys[CONF_REST_KEYS];

/* When all keys were read: what hangs on others, and whether its files can be used. Negative errno;
 * where it isn't -ENOMEM the reason is in `why`. */
int conf_settle_upload(struct conf *conf, char *why, size_t why_bytes);
