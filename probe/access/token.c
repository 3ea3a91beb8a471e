// SPDX-License-Identifier: GPL-2.0-or-later
#include "access/token.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"

/* Returns whether all characters may stand in a header's value (RFC 7230), and none is a blank. */
static bool is_visible(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] <= ' ' || text[i] >= 0x7f)
			return false;
	}
	return true;
}

int token_read(struct token *token, const char *path, bool *exposed, struct why *why)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat stat;
	size_t len = 0;
	int r = 0;

	if (fd < 0 || fstat(fd, &stat) < 0)
		r = -errno;
	else if (!S_ISREG(stat.st_mode))
		r = -EINVAL;
	else
		r = file_read_up_to(fd, token->text, sizeof(token->text), &len);
	if (r < 0) {
		why_set(why, "%s: %s", path, r == -EINVAL ? "it is no regular file" : strerror(-r));
		return r;
	}
	while (len && (token->text[len - 1] == '\n' || token->text[len - 1] == '\r'))
		len--;
	if (len < TOKEN_MIN || len > TOKEN_MAX || !is_visible(token->text, len)) {
		why_set(why, "%s: a token is one line of %d to %d visible characters of ASCII",
			path, TOKEN_MIN, TOKEN_MAX);
		token_done(token);
		return -EINVAL;
	}
	memset(token->text + len, 0, sizeof(token->text) - len);
	token->len = len;
	*exposed = stat.st_mode & S_IROTH;
	return 0;
}

/* Compares all bytes, so that the time doesn't tell which of them differ. */
static bool is_equal(const struct token *token, const char given[TOKEN_MAX], size_t len)
{
	unsigned char differs = token->len != len;

	for (size_t i = 0; i < TOKEN_MAX; i++)
		differs |= (unsigned char)(token->text[i] ^ given[i]);
	return !differs && len;
}

int token_role(const struct token tokens[ROLES], const char *text)
{
	size_t len = strnlen(text, TOKEN_MAX + 1);
	char given[TOKEN_MAX] = {0};
	int found = -ENOENT;

	if (len > TOKEN_MAX)
		return -ENOENT;
	memcpy(given, text, len);
	for (int i = 0; i < ROLES; i++) {
		if (is_equal(&tokens[i], given, len))
			found = i;
	}
	explicit_bzero(given, sizeof(given));
	return found;
}

void token_done(struct token *token)
{
	explicit_bzero(token, sizeof(*token));
}
