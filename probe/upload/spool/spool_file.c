// SPDX-License-Identifier: GPL-2.0-or-later
#include "upload/spool/spool_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "base/file.h"

_Static_assert(sizeof(struct spool_header) == 40, "no padding: it is written as it lies there");

#define CRC_FROM (offsetof(struct spool_header, crc) + sizeof(uint32_t))

static uint32_t add_crc(uint32_t crc, const void *data, size_t bytes)
{
	return (uint32_t)crc32_z(crc, data, bytes);
}

static uint32_t header_crc(const struct spool_header *header)
{
	return add_crc(0, (const char *)header + CRC_FROM, sizeof(*header) - CRC_FROM);
}

int spool_file_write(int fd, const struct body *body)
{
	const char *const texts[] = {body->texts.what, body->texts.target,
				     body->texts.content_type};
	struct spool_header header = {
		.magic = SPOOL_MAGIC,
		.version = SPOOL_VERSION,
		.what_bytes = (uint32_t)strlen(texts[0]) + 1,
		.target_bytes = (uint32_t)strlen(texts[1]) + 1,
		.type_bytes = (uint32_t)strlen(texts[2]) + 1,
		.until_ns = body->until_ns,
		.bytes = body->bytes,
	};

	header.crc = header_crc(&header);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		header.crc = add_crc(header.crc, texts[i], strlen(texts[i]) + 1);
	if (body->bytes)
		header.crc = add_crc(header.crc, body->data, body->bytes);
	int r = file_write_all(fd, (const char *)&header, sizeof(header));
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(texts); i++)
		r = file_write_all(fd, texts[i], strlen(texts[i]) + 1);
	if (r == 0)
		r = file_write_all(fd, body->data, body->bytes);
	return r;
}

/* Reads exactly `bytes`; -EBADMSG if the file has fewer. */
static int read_all(int fd, char *to, size_t bytes)
{
	size_t len;
	int r = file_read_up_to(fd, to, bytes, &len);

	return r == 0 && len < bytes ? -EBADMSG : r;
}

static bool is_plausible(const struct spool_header *header, int64_t until_ns)
{
	return header->magic == SPOOL_MAGIC && header->version == SPOOL_VERSION &&
	       header->until_ns == until_ns && header->bytes <= BODY_BYTES_MAX &&
	       header->what_bytes - 1 < BODY_TEXT_MAX && header->target_bytes - 1 < BODY_TEXT_MAX &&
	       header->type_bytes - 1 < BODY_TEXT_MAX;
}

/* Finds the three texts; false if one of them has not the length that the header says. */
static bool find_texts(const struct spool_header *header, const char *memory,
		       struct body_texts *texts)
{
	const char *const target = memory + header->what_bytes;
	const char *const type = target + header->target_bytes;

	*texts = (struct body_texts){memory, target, type};
	return strnlen(memory, header->what_bytes) == header->what_bytes - 1 &&
	       strnlen(target, header->target_bytes) == header->target_bytes - 1 &&
	       strnlen(type, header->type_bytes) == header->type_bytes - 1;
}

int spool_file_read(int fd, int64_t until_ns, struct body **ret)
{
	_cleanup_buf_ struct buf bytes = BUF_INIT(BODY_BYTES_MAX);
	struct spool_header header = {0};
	struct body_texts texts;
	char spare = 0;

	int r = read_all(fd, (char *)&header, sizeof(header));
	if (r == 0 && !is_plausible(&header, until_ns))
		r = -EBADMSG;
	if (r < 0)
		return r;
	size_t texts_bytes = (size_t)header.what_bytes + header.target_bytes + header.type_bytes;
	_cleanup_free_ char *memory = malloc(texts_bytes);
	char *room = header.bytes ? buf_reserve(&bytes, header.bytes) : &spare;
	if (!memory || !room)
		return -ENOMEM;
	r = read_all(fd, memory, texts_bytes);
	if (r == 0)
		r = read_all(fd, room, header.bytes);
	if (r < 0)
		return r;
	bytes.len = header.bytes;
	uint32_t crc = add_crc(header_crc(&header), memory, texts_bytes);
	if (bytes.len)
		crc = add_crc(crc, bytes.data, bytes.len);
	if (crc != header.crc || read(fd, &spare, 1) != 0 || !find_texts(&header, memory, &texts))
		return -EBADMSG;
	return body_new(ret, &texts, until_ns, &bytes);
}
