// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/conf/conf_reader.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static int take_log_level(struct conf_reader *reader, const config_setting_t *setting)
{
	const char *text = config_setting_get_string(setting);

	if (!text || log_level_parse(text, &reader->conf->log_level) < 0)
		return conf_refuse(reader, setting, "\"debug\", \"info\", \"warn\" or \"error\"");
	return 0;
}

static void free_roots(struct conf *conf)
{
	for (size_t i = 0; i < conf->roots_count; i++) {
		free(conf->roots[i]);
		conf->roots[i] = NULL;
	}
	conf->roots_count = 0;
}

static int take_roots(struct conf_reader *reader, const config_setting_t *setting)
{
	struct conf *conf = reader->conf;
	int count = config_setting_length(setting);

	if (!config_setting_is_aggregate(setting) || count < 1 || count > CONF_ROOTS_MAX)
		return conf_refuse(reader, setting, "a list of 1 to 16 folders");
	free_roots(conf);
	for (int i = 0; i < count; i++) {
		const char *path = config_setting_get_string_elem(setting, i);

		if (!path || path[0] != '/')
			return conf_refuse(reader, setting, "a list of absolute paths");
		conf->roots[i] = strdup(path);
		if (!conf->roots[i])
			return -ENOMEM;
		conf->roots_count++;
	}
	return 0;
}

static int take_state_dir(struct conf_reader *reader, const config_setting_t *setting)
{
	return conf_take_path(reader, setting, &reader->conf->state_dir);
}

static int take_containers_root(struct conf_reader *reader, const config_setting_t *setting)
{
	const char *text = config_setting_get_string(setting);

	if (!text || text[0] != '/')
		return conf_refuse(reader, setting, "an absolute path");
	return conf_take_path(reader, setting, &reader->conf->containers_root);
}

static int take_probes_init(struct conf_reader *reader, const config_setting_t *setting)
{
	return conf_take_path(reader, setting, &reader->conf->probes_init);
}

static int take_restore(struct conf_reader *reader, const config_setting_t *setting)
{
	if (config_setting_type(setting) != CONFIG_TYPE_BOOL)
		return conf_refuse(reader, setting, "true or false");
	reader->conf->restore = config_setting_get_bool(setting);
	return 0;
}

static int take_process_metrics(struct conf_reader *reader, const config_setting_t *setting)
{
	return conf_take_long(reader, setting, &reader->conf->process_metrics, -1, 1000000);
}

static int take_stacks(struct conf_reader *reader, const config_setting_t *setting)
{
	return conf_take_size(reader, setting, &reader->conf->sizes.stacks, 256, 1 << 20);
}

static int take_targets(struct conf_reader *reader, const config_setting_t *setting)
{
	return conf_take_size(reader, setting, &reader->conf->sizes.targets, 64, 1 << 20);
}

static int take_ring(struct conf_reader *reader, const config_setting_t *setting, uint32_t *size)
{
	uint32_t value = 0;
	int r = conf_take_size(reader, setting, &value, 65536, 1 << 28);

	if (r == 0 && (value & (value - 1)))
		return conf_refuse(reader, setting, "a power of two");
	if (r == 0)
		*size = value;
	return r;
}

static int take_stack_ring(struct conf_reader *reader, const config_setting_t *setting)
{
	return take_ring(reader, setting, &reader->conf->sizes.stack_ring);
}

static int take_life_ring(struct conf_reader *reader, const config_setting_t *setting)
{
	return take_ring(reader, setting, &reader->conf->sizes.life_ring);
}

static int take_tables(struct conf_reader *reader, const config_setting_t *setting)
{
	return conf_take_size(reader, setting, &reader->conf->sizes.tables_bytes, 1 << 20,
			      256 << 20);
}

static int take_allocations(struct conf_reader *reader, const config_setting_t *setting)
{
	return conf_take_size(reader, setting, &reader->conf->sizes.allocations, 1024, 1 << 24);
}

static int take_python(struct conf_reader *reader, const config_setting_t *setting)
{
	return conf_take_bool(reader, setting, &reader->conf->sizes.python);
}

static int take_java(struct conf_reader *reader, const config_setting_t *setting)
{
	return conf_take_bool(reader, setting, &reader->conf->sizes.java);
}

static int take_retention_days(struct conf_reader *reader, const config_setting_t *setting)
{
	return conf_take_long(reader, setting, &reader->conf->retention.days, 0, 36500);
}

static int take_retention_bytes(struct conf_reader *reader, const config_setting_t *setting)
{
	return conf_take_long(reader, setting, &reader->conf->retention.bytes, 0, 1LL << 50);
}

static int take_retention_interval(struct conf_reader *reader, const config_setting_t *setting)
{
	return conf_take_long(reader, setting, &reader->conf->retention.interval, 1, 86400);
}

static int take_history_days(struct conf_reader *reader, const config_setting_t *setting)
{
	return conf_take_long(reader, setting, &reader->conf->history.limits.days, 0, 36500);
}

static int take_history_bytes(struct conf_reader *reader, const config_setting_t *setting)
{
	return conf_take_long(reader, setting, &reader->conf->history.limits.bytes, 0, 1LL << 50);
}

static int take_history_window(struct conf_reader *reader, const config_setting_t *setting)
{
	return conf_take_long(reader, setting, &reader->conf->history.window_s, 1, 300);
}

static const struct conf_key keys[] = {
	{"global.log_level", take_log_level},
	{"global.output_roots", take_roots},
	{"global.state_dir", take_state_dir},
	{"global.restore", take_restore},
	{"global.probes_init", take_probes_init},
	{"global.process_metrics", take_process_metrics},
	{"bpf.stacks", take_stacks},
	{"bpf.targets", take_targets},
	{"bpf.stack_ring_bytes", take_stack_ring},
	{"bpf.life_ring_bytes", take_life_ring},
	{"bpf.tables_bytes", take_tables},
	{"bpf.allocations", take_allocations},
	{"bpf.python", take_python},
	{"bpf.java", take_java},
	{"containers.root", take_containers_root},
	{"retention.days", take_retention_days},
	{"retention.bytes", take_retention_bytes},
	{"retention.interval", take_retention_interval},
	{"history.days", take_history_days},
	{"history.bytes", take_history_bytes},
	{"history.window", take_history_window},
};

int conf_init(struct conf *conf)
{
	*conf = (struct conf){
		.log_level = LOG_INFO,
		.bind_addr = "127.0.0.1",
		.port = 9999,
		.restore = true,
		.process_metrics = 16,
		.sizes = {.stacks = 16384,
			  .targets = 8192,
			  .stack_ring = 1 << 20,
			  .life_ring = 1 << 18,
			  .tables_bytes = 32 << 20,
			  .allocations = 1 << 18,
			  .python = 1,
			  .java = 1},
		.retention = {.days = 7, .bytes = 1 << 30, .interval = 300},
		.history = {.limits = {.days = 7, .bytes = 512 << 20}, .window_s = 30},
	};
	int r = upload_options_init(&conf->upload);
	if (r == 0)
		r = rest_options_init(&conf->rest);
	conf->roots[0] = strdup("/var/log");
	conf->roots[1] = strdup("/tmp");
	conf->roots_count = 2;
	conf->state_dir = strdup("/var/lib/stackprobe");
	conf->probes_init = strdup("/etc/stackprobe/probes.init");
	conf->containers_root = strdup("/");
	if (r == 0 && conf->roots[0] && conf->roots[1] && conf->state_dir && conf->probes_init &&
	    conf->containers_root)
		return 0;
	conf_done(conf);
	return -ENOMEM;
}

void conf_done(struct conf *conf)
{
	upload_options_done(&conf->upload);
	rest_options_done(&conf->rest);
	free_roots(conf);
	free(conf->state_dir);
	free(conf->probes_init);
	free(conf->containers_root);
	conf->state_dir = conf->probes_init = conf->containers_root = NULL;
}

static const struct conf_key *find_key(const char *section, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s.%s", section, name);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (strcmp(keys[i].path, path) == 0)
			return &keys[i];
	}
	for (size_t i = 0; i < CONF_UPLOAD_KEYS; i++) {
		if (strcmp(conf_upload_keys[i].path, path) == 0)
			return &conf_upload_keys[i];
	}
	for (size_t i = 0; i < CONF_REST_KEYS; i++) {
		if (strcmp(conf_rest_keys[i].path, path) == 0)
			return &conf_rest_keys[i];
	}
	return NULL;
}

static int take_section(struct conf_reader *reader, const config_setting_t *section)
{
	const char *name = config_setting_name(section);

	if (!config_setting_is_group(section)) {
		log_warn("conf: line %u: unknown key %s is ignored",
			 config_setting_source_line(section), name);
		return 0;
	}
	for (int i = 0; i < config_setting_length(section); i++) {
		const config_setting_t *setting = config_setting_get_elem(section, (unsigned)i);
		const struct conf_key *key = find_key(name, config_setting_name(setting));

		if (!key) {
			log_warn("conf: line %u: unknown key %s.%s is ignored",
				 config_setting_source_line(setting), name,
				 config_setting_name(setting));
			continue;
		}
		int r = key->take(reader, setting);
		if (r < 0)
			return r;
	}
	return 0;
}

static void close_file(FILE **file)
{
	if (*file)
		fclose(*file);
}

static int read_file(struct conf *conf, const char *path, bool required, struct why *why)
{
	_cleanup_(close_file) FILE *file = fopen(path, "re");
	_cleanup_(config_destroy) config_t parsed;
	struct why detail = {0};
	struct conf_reader reader = {conf, &detail};
	int r = 0;

	config_init(&parsed);
	if (!file && errno == ENOENT && !required)
		return 0;
	if (!file) {
		r = -errno;
		why_set(why, "%s: %s", path, strerror(-r));
		return r;
	}
	if (config_read(&parsed, file) != CONFIG_TRUE) {
		why_set(why, "%s: line %d: %s", path, config_error_line(&parsed),
			config_error_text(&parsed));
		return -EINVAL;
	}
	const config_setting_t *root = config_root_setting(&parsed);
	for (int i = 0; r == 0 && i < config_setting_length(root); i++)
		r = take_section(&reader, config_setting_get_elem(root, (unsigned)i));
	if (r < 0)
		why_set(why, "%s: %s", path, detail.text[0] ? detail.text : strerror(-r));
	return r;
}

int conf_read(struct conf *conf, const char *path, bool required, struct why *why)
{
	struct why detail = {0};
	int r = read_file(conf, path, required, why);

	if (r < 0)
		return r;
	r = conf_settle_upload(conf, &detail);
	if (r == 0)
		r = rest_options_settle(&conf->rest, &detail);
	if (r < 0)
		why_set(why, "%s: %s", path, detail.text[0] ? detail.text : strerror(-r));
	return r;
}

/* "ADDR:PORT" or "[ADDR]:PORT". */
static int split_address(const char *text, char address[CONF_ADDRESS_BYTES], int *port)
{
	const char *colon = strrchr(text, ':');
	unsigned char bytes[sizeof(struct in6_addr)];
	char host[CONF_ADDRESS_BYTES], *end;

	if (!colon || colon == text || (size_t)(colon - text) >= sizeof(host))
		return -EINVAL;
	snprintf(host, sizeof(host), "%.*s", (int)(colon - text), text);
	size_t len = strlen(host);
	if (host[0] == '[' && host[len - 1] == ']') {
		memmove(host, host + 1, len - 2);
		host[len - 2] = '\0';
	}
	long number = strtol(colon + 1, &end, 10);
	if (end == colon + 1 || *end || number < 0 || number > 65535)
		return -EINVAL;
	if (inet_pton(AF_INET, host, bytes) != 1 && inet_pton(AF_INET6, host, bytes) != 1)
		return -EINVAL;
	memcpy(address, host, sizeof(host));
	*port = (int)number;
	return 0;
}

int conf_set_listen(struct conf *conf, const char *text)
{
	return split_address(text, conf->bind_addr, &conf->port);
}

int conf_set_metrics_listen(struct conf *conf, const char *text)
{
	if (text[0])
		return split_address(text, conf->rest.metrics_address, &conf->rest.metrics_port);
	conf->rest.metrics_address[0] = '\0';
	return 0;
}
