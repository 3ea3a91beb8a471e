// SPDX-License-Identifier: GPL-2.0-or-later
/* Kinds of values of the conf file. */
#include "api/conf/conf_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int conf_refuse(struct conf_reader *reader, const config_setting_t *setting, const char *wanted)
{
	why_set(reader->why, "line %u: %s must be %s", config_setting_source_line(setting),
		config_setting_name(setting), wanted);
	return -EINVAL;
}

int conf_take_path(struct conf_reader *reader, const config_setting_t *setting, char **path)
{
	const char *text = config_setting_get_string(setting);

	if (!text || (text[0] && text[0] != '/'))
		return conf_refuse(reader, setting, "an absolute path, or empty");
	char *copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	free(*path);
	*path = copy;
	return 0;
}

int conf_take_size(struct conf_reader *reader, const config_setting_t *setting, uint32_t *size,
		   int min, int max)
{
	int value = config_setting_get_int(setting);
	char range[64];

	snprintf(range, sizeof(range), "a number from %d to %d", min, max);
	if (config_setting_type(setting) != CONFIG_TYPE_INT || value < min || value > max)
		return conf_refuse(reader, setting, range);
	*size = (uint32_t)value;
	return 0;
}

int conf_take_bool(struct conf_reader *reader, const config_setting_t *setting, uint32_t *to)
{
	if (config_setting_type(setting) != CONFIG_TYPE_BOOL)
		return conf_refuse(reader, setting, "true or false");
	*to = (uint32_t)config_setting_get_bool(setting);
	return 0;
}

int conf_take_long(struct conf_reader *reader, const config_setting_t *setting, int64_t *number,
		   int64_t min, int64_t max)
{
	int64_t value = config_setting_get_int64(setting);
	int type = config_setting_type(setting);
	char range[64];

	snprintf(range, sizeof(range), "a number from %lld to %lld", (long long)min,
		 (long long)max);
	if ((type != CONFIG_TYPE_INT && type != CONFIG_TYPE_INT64) || value < min || value > max)
		return conf_refuse(reader, setting, range);
	*number = value;
	return 0;
}
