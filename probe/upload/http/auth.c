// SPDX-License-Identifier: GPL-2.0-or-later
#include "upload/http/auth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/utf8.h"

/* A secret, a line end, and one more byte, which shows that a file is too long. */
#define FILE_BYTES (HTTP_SECRET_MAX + 3)

struct auth {
	struct upload_options options;
	struct http_auth http;
	char password[FILE_BYTES], token[FILE_BYTES];
};

/* A file with the option that names it, and where the sentence of an error goes. */
struct named_file {
	const char *key, *path;
	struct why *why;
};

static int refuse_file(const struct named_file *file, const char *what)
{
	why_set(file->why, "upload: %s %s %s", file->key, file->path, what);
	return -EINVAL;
}

static int refuse_error(const struct named_file *file, int error)
{
	why_set(file->why, "upload: %s %s: %s", file->key, file->path, strerror(error));
	return -error;
}

/* Opens a regular file; never waits for a FIFO or a device. */
static int open_file(const struct named_file *file)
{
	_cleanup_close_ int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat stat;

	if (fd < 0 || fstat(fd, &stat) < 0)
		return refuse_error(file, errno);
	if (!S_ISREG(stat.st_mode))
		return refuse_file(file, "is no regular file");
	return TAKE_FD(fd);
}

static int read_secret(const struct named_file *file, char secret[FILE_BYTES])
{
	_cleanup_close_ int fd = open_file(file);
	size_t len;

	if (fd < 0)
		return fd;
	int r = file_read_up_to(fd, secret, FILE_BYTES, &len);
	if (r < 0)
		return refuse_error(file, -r);
	if (len && len < FILE_BYTES && secret[len - 1] == '\n')
		len--;
	if (len && len < FILE_BYTES && secret[len - 1] == '\r')
		len--;
	if (len > HTTP_SECRET_MAX)
		return refuse_file(file, "is larger than a secret may be (4096 bytes)");
	if (!len)
		return refuse_file(file, "is empty");
	if (!utf8_is_line(secret, len))
		return refuse_file(file,
				   "has bytes that no secret has: it must be one line of text");
	secret[len] = '\0';
	return 0;
}

static int read_files(struct auth *auth, struct why *why)
{
	const struct upload_options *options = &auth->options;
	const struct {
		const char *key, *path;
		char *secret; /* NULL: libcurl reads the file */
	} files[] = {
		{"password_file", options->password_file, auth->password},
		{"token_file", options->token_file, auth->token},
		{"ca_file", options->ca_file, NULL},
		{"cert_file", options->cert_file, NULL},
		{"key_file", options->key_file, NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		const struct named_file file = {files[i].key, files[i].path, why};

		if (!file.path)
			continue;
		_cleanup_close_ int fd = files[i].secret ? -1 : open_file(&file);
		int r = files[i].secret ? read_secret(&file, files[i].secret) : fd;
		if (r < 0)
			return r;
	}
	return 0;
}

int auth_read(struct auth **ret, const struct upload_options *options, struct why *why)
{
	_cleanup_(auth_freep) struct auth *auth = calloc(1, sizeof(*auth));
	int r = upload_options_check(options, why);

	if (r < 0)
		return r;
	if (!auth || upload_options_copy(&auth->options, options) < 0) {
		why_set(why, "upload: no memory");
		return -ENOMEM;
	}
	r = read_files(auth, why);
	if (r < 0)
		return r;
	auth->http = (struct http_auth){
		.user = auth->options.user,
		.password = options->password_file ? auth->password : NULL,
		.token = options->token_file ? auth->token : NULL,
		.tenant = auth->options.tenant,
		.ca_file = auth->options.ca_file,
		.cert_file = auth->options.cert_file,
		.key_file = auth->options.key_file,
	};
	*ret = TAKE_PTR(auth);
	return 0;
}

void auth_free(struct auth *auth)
{
	if (!auth)
		return;
	upload_options_done(&auth->options);
	explicit_bzero(auth, sizeof(*auth));
	free(auth);
}

const struct http_auth *auth_http(const struct auth *auth)
{
	return &auth->http;
}

size_t auth_exposed(const struct upload_options *options, const char *paths[AUTH_SECRETS_MAX])
{
	const char *const secrets[AUTH_SECRETS_MAX] = {options->password_file, options->token_file,
						       options->key_file};
	size_t count = 0;

	for (size_t i = 0; i < AUTH_SECRETS_MAX; i++) {
		struct stat info;

		if (secrets[i] && stat(secrets[i], &info) == 0 && info.st_mode & S_IROTH)
			paths[count++] = secrets[i];
	}
	return count;
}
