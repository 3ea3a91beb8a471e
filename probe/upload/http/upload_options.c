// SPDX-License-Identifier: GPL-2.0-or-later
#include "upload/http/upload_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* All texts but `allow`. */
static const size_t texts[] = {
	offsetof(struct upload_options, spool_dir),  offsetof(struct upload_options, service_name),
	offsetof(struct upload_options, user),	     offsetof(struct upload_options, password_file),
	offsetof(struct upload_options, token_file), offsetof(struct upload_options, tenant),
	offsetof(struct upload_options, ca_file),    offsetof(struct upload_options, cert_file),
	offsetof(struct upload_options, key_file),
};

static char **text_of(const struct upload_options *options, size_t i)
{
	return (char **)(void *)((char *)options + texts[i]);
}

int upload_options_init(struct upload_options *options)
{
	*options = (struct upload_options){
		.spool_bytes = UINT64_C(256) << 20,
		.service_name = strdup("stackprobe"),
		.period_s = 30,
	};
	return options->service_name ? 0 : -ENOMEM;
}

void upload_options_done(struct upload_options *options)
{
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		free(*text_of(options, i));
	for (size_t i = 0; i < options->allow_count; i++)
		free(options->allow[i]);
	*options = (struct upload_options){0};
}

static int copy_text(char **to, const char *from)
{
	*to = from ? strdup(from) : NULL;
	return from && !*to ? -ENOMEM : 0;
}

int upload_options_copy(struct upload_options *to, const struct upload_options *from)
{
	int r = 0;

	*to = (struct upload_options){.spool_bytes = from->spool_bytes,
				      .period_s = from->period_s,
				      .spread_s = from->spread_s,
				      .insecure_credentials = from->insecure_credentials};
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(texts); i++)
		r = copy_text(text_of(to, i), *text_of(from, i));
	for (size_t i = 0; r == 0 && i < from->allow_count; i++) {
		r = copy_text(&to->allow[i], from->allow[i]);
		to->allow_count += r == 0;
	}
	if (r < 0)
		upload_options_done(to);
	return r;
}

bool upload_has_credentials(const struct upload_options *options)
{
	return options->password_file || options->token_file || options->cert_file;
}

int upload_options_check(const struct upload_options *options, struct why *why)
{
	const char *sentence = NULL;

	if (options->user && !options->password_file)
		sentence = "user needs password_file";
	else if (options->password_file && !options->user)
		sentence = "password_file needs user";
	else if (options->user && options->token_file)
		sentence = "user and token_file exclude each other: a server takes one of them";
	else if (options->cert_file && !options->key_file)
		sentence = "cert_file needs key_file";
	else if (options->key_file && !options->cert_file)
		sentence = "key_file needs cert_file";
	if (sentence)
		why_set(why, "upload: %s", sentence);
	return sentence ? -EINVAL : 0;
}
