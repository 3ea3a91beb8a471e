// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/conf/rest_options.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define GROUP_BYTES (1 << 16)

int rest_options_init(struct rest_options *options)
{
	*options = (struct rest_options){
		.socket = strdup(REST_SOCKET),
		.admin_group = strdup(""),
		.private_key = strdup(""),
		.cert_file = strdup(""),
		.ca_file = strdup(""),
		.rules = {.loopback_uid = true, .certificate_role = ROLE_ADMIN},
	};
	if (options->socket && options->admin_group && options->private_key && options->cert_file &&
	    options->ca_file)
		return 0;
	rest_options_done(options);
	return -ENOMEM;
}

void rest_options_done(struct rest_options *options)
{
	free(options->socket);
	free(options->admin_group);
	free(options->private_key);
	free(options->cert_file);
	free(options->ca_file);
	for (int i = 0; i < ROLES; i++) {
		free(options->token_files[i]);
		token_done(&options->rules.tokens[i]);
	}
	for (size_t i = 0; i < options->hosts_count; i++)
		free(options->hosts[i]);
	tls_keys_free(options->keys);
	*options = (struct rest_options){0};
}

static int settle_tokens(struct rest_options *options, struct why *why)
{
	for (int i = 0; i < ROLES; i++) {
		bool exposed = false;
		int r = 0;

		if (options->token_files[i])
			r = token_read(&options->rules.tokens[i], options->token_files[i], &exposed,
				       why);
		if (r < 0)
			return r;
		if (exposed)
			log_warn("conf: everybody may read %s, which has the token of the role %s",
				 options->token_files[i], role_name(i));
	}
	return 0;
}

static int settle_group(struct rest_options *options, struct why *why)
{
	struct group group, *found = NULL;
	char *text;

	if (!options->admin_group[0])
		return 0;
	text = malloc(GROUP_BYTES);
	if (!text)
		return -ENOMEM;
	int r = -getgrnam_r(options->admin_group, &group, text, GROUP_BYTES, &found);
	if (found) {
		options->rules.has_group = true;
		options->rules.group = group.gr_gid;
	} else {
		why_set(why, "rest_api_server.admin_group: there is no group %s",
			options->admin_group);
		r = r < 0 ? r : -EINVAL;
	}
	free(text);
	return found ? 0 : r;
}

/* Reads the keys for TLS. TLS that was asked for and can't be had stops the start: the API is never
 * served in plain text instead. */
static int settle_tls(struct rest_options *options, struct why *why)
{
	struct why warning = {0};

	if (!options->tls)
		return 0;
	if (!options->private_key[0] || !options->cert_file[0]) {
		why_set(why, "rest_api_server.ssl_auth is on: private_key and cert_file have to be "
			     "named");
		return -EINVAL;
	}
	int r = tls_keys_read(&options->keys, options->private_key, options->cert_file,
			      options->ca_file, &warning, why);
	if (r == 0 && warning.text[0])
		log_warn("conf: rest_api_server: the certificate %s", warning.text);
	return r;
}

int rest_options_settle(struct rest_options *options, struct why *why)
{
	int r = settle_tokens(options, why);

	if (r == 0)
		r = settle_group(options, why);
	if (r == 0)
		r = settle_tls(options, why);
	if (r == 0 && options->rules.open)
		log_warn("conf: rest_api_server.open: whoever reaches this daemon may have any "
			 "process "
			 "profiled, and may PUT");
	return r;
}
