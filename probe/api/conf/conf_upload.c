// SPDX-License-Identifier: GPL-2.0-or-later
/* The conf file's section `upload`. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/conf/conf_reader.h"
#include "base/cleanup.h"
#include "base/utf8.h"
#include "upload/http/auth.h"
#include "upload/http/destination.h"
#include "upload/http/server_url.h"

#define SPOOL_MB_MAX (1 << 20)

static bool is_text(const char *text)
{
	return utf8_is_line(text, strlen(text));
}

static bool is_user(const char *text)
{
	return strlen(text) <= HTTP_SECRET_MAX && is_text(text) && !strchr(text, ':');
}

static bool is_tenant(const char *text)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i++) {
		if (text[i] <= ' ' || text[i] > '~' || text[i] == '|')
			return false;
	}
	return len <= UPLOAD_TENANT_MAX;
}

static bool is_service(const char *text)
{
	return text[0] && strlen(text) <= UPLOAD_SERVICE_MAX && is_text(text);
}

/* Takes a text; "" stands for none (NULL). */
static int take_text(struct conf_reader *reader, const config_setting_t *setting, char **to,
		     bool (*is_fine)(const char *text), const char *wanted)
{
	const char *text = config_setting_get_string(setting);

	if (!text || !is_fine(text))
		return conf_refuse(reader, setting, wanted);
	char *copy = text[0] ? strdup(text) : NULL;
	if (text[0] && !copy)
		return -ENOMEM;
	free(*to);
	*to = copy;
	return 0;
}

/* Takes a path; "" stands for none (NULL). */
static int take_file(struct conf_reader *reader, const config_setting_t *setting, char **to)
{
	int r = conf_take_path(reader, setting, to);

	if (r == 0 && !(*to)[0]) {
		free(*to);
		*to = NULL;
	}
	return r;
}

static int take_spool_dir(struct conf_reader *reader, const config_setting_t *setting)
{
	return conf_take_path(reader, setting, &reader->conf->upload.spool_dir);
}

static int take_spool_mb(struct conf_reader *reader, const config_setting_t *setting)
{
	int64_t megabytes = 0;
	int r = conf_take_long(reader, setting, &megabytes, 1, SPOOL_MB_MAX);

	if (r == 0)
		reader->conf->upload.spool_bytes = (uint64_t)megabytes << 20;
	return r;
}

static int take_allow(struct conf_reader *reader, const config_setting_t *setting)
{
	struct upload_options *upload = &reader->conf->upload;
	int count = config_setting_length(setting);

	if (!config_setting_is_aggregate(setting) || count > UPLOAD_ALLOW_MAX)
		return conf_refuse(reader, setting, "a list of up to 64 servers");
	while (upload->allow_count)
		free(upload->allow[--upload->allow_count]);
	for (int i = 0; i < count; i++) {
		const char *text = config_setting_get_string_elem(setting, i);
		char url[SERVER_URL_BYTES];

		if (!text || server_url(text, url, sizeof(url)) == -EINVAL)
			return conf_refuse(reader, setting,
					   "a list of servers, each host:port or an http(s) URL "
					   "without user, query and fragment");
		char *copy = strdup(text);
		if (!copy)
			return -ENOMEM;
		upload->allow[upload->allow_count++] = copy;
	}
	return 0;
}

static int take_service_name(struct conf_reader *reader, const config_setting_t *setting)
{
	return take_text(reader, setting, &reader->conf->upload.service_name, is_service,
			 "1 to 2048 bytes of UTF-8 without control characters");
}

/* Windows begin with the minute. */
static int take_period(struct conf_reader *reader, const config_setting_t *setting)
{
	uint32_t period = 0;
	int r = conf_take_size(reader, setting, &period, 5, 60);

	if (r == 0 && 60 % period)
		return conf_refuse(reader, setting, "5, 6, 10, 12, 15, 20, 30 or 60");
	if (r == 0)
		reader->conf->upload.period_s = period;
	return r;
}

static int take_spread(struct conf_reader *reader, const config_setting_t *setting)
{
	return conf_take_size(reader, setting, &reader->conf->upload.spread_s, 0, 60);
}

static int take_user(struct conf_reader *reader, const config_setting_t *setting)
{
	return take_text(reader, setting, &reader->conf->upload.user, is_user,
			 "a name without colon and control characters, or empty");
}

static int take_password_file(struct conf_reader *reader, const config_setting_t *setting)
{
	return take_file(reader, setting, &reader->conf->upload.password_file);
}

static int take_token_file(struct conf_reader *reader, const config_setting_t *setting)
{
	return take_file(reader, setting, &reader->conf->upload.token_file);
}

static int take_tenant(struct conf_reader *reader, const config_setting_t *setting)
{
	return take_text(reader, setting, &reader->conf->upload.tenant, is_tenant,
			 "up to 150 printable characters of ASCII without blank and |, or empty");
}

static int take_ca_file(struct conf_reader *reader, const config_setting_t *setting)
{
	return take_file(reader, setting, &reader->conf->upload.ca_file);
}

static int take_cert_file(struct conf_reader *reader, const config_setting_t *setting)
{
	return take_file(reader, setting, &reader->conf->upload.cert_file);
}

static int take_key_file(struct conf_reader *reader, const config_setting_t *setting)
{
	return take_file(reader, setting, &reader->conf->upload.key_file);
}

static int take_insecure_credentials(struct conf_reader *reader, const config_setting_t *setting)
{
	return conf_take_bool(reader, setting, &reader->conf->upload.insecure_credentials);
}

const struct conf_key conf_upload_keys[CONF_UPLOAD_KEYS] = {
	{"upload.spool_dir", take_spool_dir},
	{"upload.spool_mb", take_spool_mb},
	{"upload.allow", take_allow},
	{"upload.service_name", take_service_name},
	{"upload.period", take_period},
	{"upload.spread", take_spread},
	{"upload.user", take_user},
	{"upload.password_file", take_password_file},
	{"upload.token_file", take_token_file},
	{"upload.tenant", take_tenant},
	{"upload.ca_file", take_ca_file},
	{"upload.cert_file", take_cert_file},
	{"upload.key_file", take_key_file},
	{"upload.insecure_credentials", take_insecure_credentials},
};

/* Sets the default spool folder: below state_dir, or none without a state_dir. */
static int default_spool(struct conf *conf)
{
	char **path = &conf->upload.spool_dir;

	if (*path)
		return 0;
	if (!conf->state_dir[0])
		*path = strdup("");
	else if (asprintf(path, "%s/spool", conf->state_dir) < 0)
		*path = NULL;
	return *path ? 0 : -ENOMEM;
}

int conf_settle_upload(struct conf *conf, struct why *why)
{
	_cleanup_(auth_freep) struct auth *auth = NULL;
	const char *exposed[AUTH_SECRETS_MAX];
	int r = default_spool(conf);

	if (r == 0)
		r = auth_read(&auth, &conf->upload, why);
	if (r < 0)
		return r;
	size_t count = auth_exposed(&conf->upload, exposed);
	for (size_t i = 0; i < count; i++)
		log_warn("conf: everybody may read %s, which has a secret", exposed[i]);
	const char *refused = upload_credentials_refused(&conf->upload);
	if (refused)
		log_warn("conf: upload is off: %s", refused);
	return 0;
}
