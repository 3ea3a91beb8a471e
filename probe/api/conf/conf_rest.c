// SPDX-License-Identifier: GPL-2.0-or-later
/* The conf file's section `rest_api_server`. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>

#include "api/conf/conf_reader.h"
#include "base/cleanup.h"

static int take_bind_addr(struct conf_reader *reader, const config_setting_t *setting)
{
	const char *text = config_setting_get_string(setting);
	unsigned char address[sizeof(struct in6_addr)];

	if (!text || (text[0] && inet_pton(AF_INET, text, address) != 1 &&
		      inet_pton(AF_INET6, text, address) != 1))
		return conf_refuse(reader, setting, "an IPv4 or IPv6 address, or empty");
	snprintf(reader->conf->bind_addr, sizeof(reader->conf->bind_addr), "%s", text);
	return 0;
}

static int take_port(struct conf_reader *reader, const config_setting_t *setting)
{
	int port = config_setting_get_int(setting);

	if (config_setting_type(setting) != CONFIG_TYPE_INT || port < 0 || port > 65535)
		return conf_refuse(reader, setting, "a number from 0 to 65535");
	reader->conf->port = port;
	return 0;
}

static int take_metrics_addr(struct conf_reader *reader, const config_setting_t *setting)
{
	const char *text = config_setting_get_string(setting);

	if (!text || conf_set_metrics_listen(reader->conf, text) < 0)
		return conf_refuse(reader, setting, "\"ADDR:PORT\", or empty");
	return 0;
}

static int take_socket(struct conf_reader *reader, const config_setting_t *setting)
{
	const char *text = config_setting_get_string(setting);

	if (text && strlen(text) >= sizeof(((struct sockaddr_un *)0)->sun_path))
		return conf_refuse(reader, setting, "at most 107 bytes long");
	reader->conf->rest.socket_given = true;
	return conf_take_path(reader, setting, &reader->conf->rest.socket);
}

static int take_copy(struct conf_reader *reader, const config_setting_t *setting, char **to)
{
	const char *text = config_setting_get_string(setting);

	if (!text)
		return conf_refuse(reader, setting, "a text");
	char *copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	free(*to);
	*to = copy;
	return 0;
}

static int take_admin_group(struct conf_reader *reader, const config_setting_t *setting)
{
	return take_copy(reader, setting, &reader->conf->rest.admin_group);
}

static int take_token(struct conf_reader *reader, const config_setting_t *setting, enum role role)
{
	char **path = &reader->conf->rest.token_files[role];
	int r = conf_take_path(reader, setting, path);

	if (r == 0 && !(*path)[0]) {
		free(*path);
		*path = NULL;
	}
	return r;
}

static int take_metrics_token(struct conf_reader *reader, const config_setting_t *setting)
{
	return take_token(reader, setting, ROLE_METRICS);
}

static int take_read_token(struct conf_reader *reader, const config_setting_t *setting)
{
	return take_token(reader, setting, ROLE_READ);
}

static int take_profile_token(struct conf_reader *reader, const config_setting_t *setting)
{
	return take_token(reader, setting, ROLE_PROFILE);
}

static int take_admin_token(struct conf_reader *reader, const config_setting_t *setting)
{
	return take_token(reader, setting, ROLE_ADMIN);
}

static int take_certificate_role(struct conf_reader *reader, const config_setting_t *setting)
{
	const char *text = config_setting_get_string(setting);
	int role = text ? role_find(text) : -ENOENT;

	if (role < 0 || role == ROLE_OWN)
		return conf_refuse(reader, setting,
				   "\"metrics\", \"read\", \"profile\" or \"admin\"");
	reader->conf->rest.rules.certificate_role = (enum role)role;
	return 0;
}

static int take_flag(struct conf_reader *reader, const config_setting_t *setting, bool *to)
{
	uint32_t value = 0;
	int r = conf_take_bool(reader, setting, &value);

	if (r == 0)
		*to = value;
	return r;
}

static int take_open(struct conf_reader *reader, const config_setting_t *setting)
{
	return take_flag(reader, setting, &reader->conf->rest.rules.open);
}

static int take_loopback_uid(struct conf_reader *reader, const config_setting_t *setting)
{
	return take_flag(reader, setting, &reader->conf->rest.rules.loopback_uid);
}

static int take_hosts(struct conf_reader *reader, const config_setting_t *setting)
{
	static const char wanted[] = "a list of up to 64 names of hosts, without ports";
	struct rest_options *rest = &reader->conf->rest;
	int count = config_setting_length(setting);

	if (!config_setting_is_aggregate(setting) || count > REST_HOSTS_MAX)
		return conf_refuse(reader, setting, wanted);
	while (rest->hosts_count)
		free(rest->hosts[--rest->hosts_count]);
	for (int i = 0; i < count; i++) {
		const char *name = config_setting_get_string_elem(setting, i);

		if (!name || !name[0] || strpbrk(name, ":/ []"))
			return conf_refuse(reader, setting, wanted);
		rest->hosts[rest->hosts_count] = strdup(name);
		if (!rest->hosts[rest->hosts_count])
			return -ENOMEM;
		rest->hosts_count++;
	}
	return 0;
}

static int take_ssl_auth(struct conf_reader *reader, const config_setting_t *setting)
{
	const char *text = config_setting_get_string(setting);

	if (!text || (strcasecmp(text, "on") != 0 && strcasecmp(text, "off") != 0))
		return conf_refuse(reader, setting, "\"on\" or \"off\"");
	reader->conf->rest.tls = strcasecmp(text, "on") == 0;
	return 0;
}

static int take_private_key(struct conf_reader *reader, const config_setting_t *setting)
{
	return conf_take_path(reader, setting, &reader->conf->rest.private_key);
}

static int take_cert_file(struct conf_reader *reader, const config_setting_t *setting)
{
	return conf_take_path(reader, setting, &reader->conf->rest.cert_file);
}

static int take_ca_file(struct conf_reader *reader, const config_setting_t *setting)
{
	return conf_take_path(reader, setting, &reader->conf->rest.ca_file);
}

const struct conf_key conf_rest_keys[CONF_REST_KEYS] = {
	{"rest_api_server.bind_addr", take_bind_addr},
	{"rest_api_server.port", take_port},
	{"rest_api_server.metrics_addr", take_metrics_addr},
	{"rest_api_server.socket", take_socket},
	{"rest_api_server.admin_group", take_admin_group},
	{"rest_api_server.metrics_token_file", take_metrics_token},
	{"rest_api_server.read_token_file", take_read_token},
	{"rest_api_server.profile_token_file", take_profile_token},
	{"rest_api_server.admin_token_file", take_admin_token},
	{"rest_api_server.certificate_role", take_certificate_role},
	{"rest_api_server.loopback_uid", take_loopback_uid},
	{"rest_api_server.open", take_open},
	{"rest_api_server.hosts", take_hosts},
	{"rest_api_server.ssl_auth", take_ssl_auth},
	{"rest_api_server.private_key", take_private_key},
	{"rest_api_server.cert_file", take_cert_file},
	{"rest_api_server.ca_file", take_ca_file},
};
