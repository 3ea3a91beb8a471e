// SPDX-License-Identifier: GPL-2.0-or-later
#include "container/bolt.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define MAGIC	       0xed0cdaed
#define FORMAT	       2
#define PAGE_SIZE_MIN  1024
#define PAGE_SIZE_MAX  65536
#define PAGE_BYTES_MAX (1 << 20)
#define HEAD_BYTES     16 /* size of a page's head, and of an element */
#define LEVELS_MAX     32
#define TRIES_MAX      5

enum { PAGE_BRANCH = 1, PAGE_LEAF = 2 };
enum { LEAF_BUCKET = 1 };

struct bucket {
	uint64_t root, sequence;
};

struct meta {
	uint32_t magic, version, page_size, flags;
	struct bucket root;
	uint64_t freelist, pages, transaction, checksum;
};

struct page_head {
	uint64_t id;
	uint16_t flags, count;
	uint32_t overflow;
};
_Static_assert(sizeof(struct meta) == 64 && sizeof(struct page_head) == HEAD_BYTES, "as on disk");

struct branch_element {
	uint32_t pos, key_bytes;
	uint64_t page;
};

struct leaf_element {
	uint32_t flags, pos, key_bytes, value_bytes;
};

struct bolt {
	int fd;
	struct meta meta;
	char *read; /* owns the last page that was read */
};

/* A page, which lies in bolt->read. */
struct bolt_page {
	struct page_head head;
	const char *data;
	size_t len;
};

static int read_at(int fd, uint64_t offset, void *to, size_t bytes)
{
	size_t done = 0;

	while (done < bytes) {
		ssize_t n = pread(fd, (char *)to + done, bytes - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
		done += (size_t)n;
	}
	return 0;
}

static uint64_t compute_checksum(const void *data, size_t bytes)
{
	uint64_t sum = 0xcbf29ce484222325;

	for (size_t i = 0; i < bytes; i++)
		sum = (sum ^ ((const uint8_t *)data)[i]) * 0x100000001b3;
	return sum;
}

static bool meta_read(int fd, uint64_t offset, struct meta *ret)
{
	return read_at(fd, offset + HEAD_BYTES, ret, sizeof(*ret)) == 0 && ret->magic == MAGIC &&
	       ret->version == FORMAT && ret->page_size >= PAGE_SIZE_MIN &&
	       ret->page_size <= PAGE_SIZE_MAX && !(ret->page_size & (ret->page_size - 1)) &&
	       ret->checksum == compute_checksum(ret, offsetof(struct meta, checksum));
}

/* Reads the later of both metas; one of them may be half written. */
static int meta_find(int fd, struct meta *ret)
{
	struct meta meta;
	bool found = meta_read(fd, 0, ret);

	for (uint64_t size = PAGE_SIZE_MIN; size <= PAGE_SIZE_MAX; size *= 2) {
		if (!meta_read(fd, size, &meta) || meta.page_size != size ||
		    (found &&
		     (meta.page_size != ret->page_size || meta.transaction <= ret->transaction)))
			continue;
		*ret = meta;
		found = true;
	}
	return found ? 0 : -EBADMSG;
}

static int page_take(const char *data, size_t len, struct bolt_page *ret)
{
	if (len < HEAD_BYTES)
		return -EBADMSG;
	memcpy(&ret->head, data, HEAD_BYTES);
	ret->data = data;
	ret->len = len;
	return HEAD_BYTES * (1 + (size_t)ret->head.count) <= len ? 0 : -EBADMSG;
}

static int page_read(struct bolt *bolt, uint64_t id, struct bolt_page *ret)
{
	uint32_t size = bolt->meta.page_size;
	struct page_head head;

	if (id < 2 || id >= bolt->meta.pages || id > (uint64_t)INT64_MAX / size - 1)
		return -EBADMSG;
	int r = read_at(bolt->fd, id * size, &head, sizeof(head));
	if (r < 0)
		return r;
	uint64_t len = (1 + (uint64_t)head.overflow) * size;
	if (head.id != id || len > PAGE_BYTES_MAX)
		return -EBADMSG;
	free(bolt->read);
	bolt->read = malloc(len);
	if (!bolt->read)
		return -ENOMEM;
	r = read_at(bolt->fd, id * size, bolt->read, len);
	return r < 0 ? r : page_take(bolt->read, len, ret);
}

/* Returns the bytes at `pos` from the start of the element at `element`; NULL: not in the page. */
static const char *page_bytes(const struct bolt_page *page, size_t element, uint64_t pos,
			      uint64_t bytes)
{
	return element + pos + bytes <= page->len ? page->data + element + pos : NULL;
}

static int compare_key(const char *key, size_t bytes, const char *wanted)
{
	size_t len = strlen(wanted);
	int order = memcmp(key, wanted, bytes < len ? bytes : len);

	return order ? order : bytes < len ? -1 : bytes > len;
}

/* Finds the page below that may have the key: that of the last element whose key isn't larger. */
static int branch_find(const struct bolt_page *page, const char *wanted, uint64_t *ret)
{
	for (unsigned i = 0; i < page->head.count; i++) {
		struct branch_element element;
		size_t at = HEAD_BYTES * (1 + (size_t)i);

		memcpy(&element, page->data + at, sizeof(element));
		const char *key = page_bytes(page, at, element.pos, element.key_bytes);
		if (!key)
			return -EBADMSG;
		if (i > 0 && compare_key(key, element.key_bytes, wanted) > 0)
			break;
		*ret = element.page;
	}
	return page->head.count ? 0 : -EBADMSG;
}

/* Finds the value of a key in a leaf page; the value lies in the page. */
static int leaf_find(const struct bolt_page *page, const char *wanted, bool bucket,
		     const char **ret, size_t *bytes)
{
	for (unsigned i = 0; i < page->head.count; i++) {
		struct leaf_element element;
		size_t at = HEAD_BYTES * (1 + (size_t)i);

		memcpy(&element, page->data + at, sizeof(element));
		const char *key = page_bytes(page, at, element.pos,
					     (uint64_t)element.key_bytes + element.value_bytes);
		if (!key)
			return -EBADMSG;
		if (compare_key(key, element.key_bytes, wanted) != 0)
			continue;
		if (bucket != !!(element.flags & LEAF_BUCKET))
			return -ENOENT;
		*ret = key + element.key_bytes;
		*bytes = element.value_bytes;
		return 0;
	}
	return -ENOENT;
}

/* Finds the value of a key in a bucket, from the bucket's root page down to a leaf. root 0: `page`
 * is the root page, which lies in the leaf of the outer bucket. */
static int bucket_find(struct bolt *bolt, uint64_t root, struct bolt_page *page, const char *wanted,
		       bool bucket, const char **ret, size_t *bytes)
{
	int r = root ? page_read(bolt, root, page) : 0;

	for (int level = 0; r == 0 && level < LEVELS_MAX; level++) {
		if (page->head.flags & PAGE_LEAF)
			return leaf_find(page, wanted, bucket, ret, bytes);
		if (!(page->head.flags & PAGE_BRANCH))
			return -EBADMSG;
		r = branch_find(page, wanted, &root);
		if (r == 0)
			r = page_read(bolt, root, page);
	}
	return r < 0 ? r : -EBADMSG;
}

static int look_up_value(struct bolt *bolt, const char *const *path, char *text, size_t room)
{
	struct bucket bucket = bolt->meta.root;
	const char *value = "";
	struct bolt_page page = {0};
	size_t bytes = 0;

	for (; *path; path++) {
		bool inner = path[1] != NULL;
		int r = bucket_find(bolt, bucket.root, &page, *path, inner, &value, &bytes);

		if (r < 0)
			return r;
		if (!inner)
			break;
		if (bytes < sizeof(bucket))
			return -EBADMSG;
		memcpy(&bucket, value, sizeof(bucket));
		if (!bucket.root)
			r = page_take(value + sizeof(bucket), bytes - sizeof(bucket), &page);
		if (r < 0)
			return r;
	}
	if (bytes >= room)
		return -ENOSPC;
	memcpy(text, value, bytes);
	text[bytes] = '\0';
	return (int)bytes;
}

int bolt_get(int fd, const char *const *path, char *text, size_t bytes)
{
	for (int i = 0; i < TRIES_MAX; i++) {
		struct bolt bolt = {.fd = fd};
		struct meta after;
		int r = meta_find(fd, &bolt.meta);

		if (r < 0)
			return r;
		r = look_up_value(&bolt, path, text, bytes);
		free(bolt.read);
		int s = meta_find(fd, &after);
		if (s == 0 && memcmp(&after, &bolt.meta, sizeof(after)) == 0)
			return r;
	}
	return -EAGAIN;
}
