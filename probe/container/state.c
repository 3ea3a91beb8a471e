// SPDX-License-Identifier: GPL-2.0-or-later
#include "container/state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/utf8.h"
#include "proc/foreign.h"

static struct foreign foreign_of(const struct state_root *root, const char *path)
{
	return (struct foreign){
		.root_fd = root->fd,
		.path = path,
		.links = root->user ? FOREIGN_NO_LINKS : FOREIGN_IN_ROOT,
		.rules = {.owners = root->user ? &root->user : NULL,
			  .owners_count = root->user ? 1 : 0},
	};
}

/* Opens a file of one kind as O_PATH. -EINVAL: another kind, or another owner in a user's home. */
static int open_kind(const struct state_root *root, const char *path, mode_t kind)
{
	const struct foreign wanted = foreign_of(root, path);
	_cleanup_close_ int fd = foreign_find(&wanted);
	struct stat stat;

	if (fd < 0)
		return fd;
	if (fstat(fd, &stat) < 0)
		return -errno;
	if ((stat.st_mode & S_IFMT) != kind || (root->user && stat.st_uid != root->user))
		return -EINVAL;
	return TAKE_FD(fd);
}

int state_folder(const struct state_root *root, const char *path)
{
	return open_kind(root, path, S_IFDIR);
}

int state_open(const struct state_root *root, const char *path)
{
	const struct foreign file = foreign_of(root, path);
	int fd = foreign_open(&file, NULL);

	return fd == -ENODEV || fd == -EPERM ? -EINVAL : fd;
}

int state_socket(const struct state_root *root, const char *path)
{
	return open_kind(root, path, S_IFSOCK);
}

int state_read(const struct state_root *root, const char *path, size_t max, struct buf *ret)
{
	_cleanup_close_ int fd = state_open(root, path);
	struct stat stat;

	if (fd < 0)
		return fd;
	if (fstat(fd, &stat) < 0)
		return -errno;
	if (stat.st_size < 0 || (uint64_t)stat.st_size > max)
		return -EFBIG;
	return file_read_fd(fd, ret);
}

/* Returns whether a string has a NUL: cJSON would end it there, and half a name is another name. */
static bool has_nul(const char *text, size_t len)
{
	for (size_t i = 0; i + 6 <= len; i++) {
		if (text[i] != '\\')
			continue;
		if (memcmp(text + i + 1, "u0000", 5) == 0)
			return true;
		i++; /* skips the escaped character */
	}
	return false;
}

cJSON *state_parse(const char *text, size_t len)
{
	return has_nul(text, len) ? NULL : cJSON_ParseWithLength(text, len);
}

cJSON *state_json(const struct state_root *root, const char *path)
{
	_cleanup_buf_ struct buf text = BUF_INIT(state_json_max(root));
	_cleanup_json_ cJSON *json = NULL;

	if (state_read(root, path, text.max, &text) < 0 || !text.len)
		return NULL;
	json = state_parse(text.data, text.len);
	return cJSON_IsObject(json) ? TAKE_PTR(json) : NULL;
}

const char *state_text(const cJSON *json, const char *member)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, member));
}

/* Returns the end of the object that begins at `at`, or NULL. */
static const char *object_end(const char *at, const char *end)
{
	size_t depth = 0;
	bool quoted = false;

	for (; at < end; at++) {
		if (quoted && *at == '\\')
			at++;
		else if (*at == '"')
			quoted = !quoted;
		else if (!quoted && *at == '{')
			depth++;
		else if (!quoted && *at == '}' && --depth == 0)
			return at + 1;
	}
	return NULL;
}

cJSON *state_find(const char *text, size_t len, const char *id, size_t max)
{
	const char *end = text + len;
	const char *at = len ? memchr(text, '{', len) : NULL;

	while (at) {
		const char *next = object_end(at, end);
		_cleanup_json_ cJSON *json = NULL;

		if (!next)
			return NULL;
		if ((size_t)(next - at) <= max && memmem(at, (size_t)(next - at), id, strlen(id)))
			json = state_parse(at, (size_t)(next - at));
		const char *found = state_text(json, "id");
		if (found && strcmp(found, id) == 0)
			return TAKE_PTR(json);
		at = memchr(next, '{', (size_t)(end - next));
	}
	return NULL;
}

static bool is_clean(const char *text, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t n = utf8_sequence(text + i, len - i);
		unsigned char c = (unsigned char)text[i];

		if (n == 0 || c < ' ' || c == 0x7f)
			return false;
		if (c == 0xc2 && (unsigned char)text[i + 1] < 0xa0) /* control characters, too */
			return false;
		i += n;
	}
	return true;
}

static bool copy_text(char *to, size_t bytes, const char *text)
{
	size_t len = text ? strlen(text) : 0;

	if (len == 0 || len >= bytes || !is_clean(text, len))
		return false;
	memcpy(to, text, len + 1);
	return true;
}

bool state_take_name(char *name, size_t bytes, const char *text)
{
	if (!text || strchr(text, '/') || !strcmp(text, ".") || !strcmp(text, ".."))
		return false;
	return copy_text(name, bytes, text);
}

bool state_take_image(char image[CONTAINER_IMAGE_MAX], const char *text)
{
	return copy_text(image, CONTAINER_IMAGE_MAX, text);
}

bool state_take_uid(char uid[CONTAINER_ID_BYTES], const char *text)
{
	size_t len = text ? strlen(text) : 0;

	if (len == 0 || len >= CONTAINER_ID_BYTES || strspn(text, "0123456789abcdef-") != len)
		return false;
	memcpy(uid, text, len + 1);
	return true;
}

bool state_is_id(const char *id)
{
	return strspn(id, "0123456789abcdef") == 64 && !id[64];
}
