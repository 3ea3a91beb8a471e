/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Format of a body's file (upload/spool/spool.h): reader and writer. */
#pragma once

#include "upload/http/body.h"

#define SPOOL_MAGIC   0x4c505053U /* "SPPL" on a little-endian machine */
#define SPOOL_VERSION 1

struct spool_header {
	uint32_t magic, version;
	uint32_t crc; /* CRC32 of the rest of the header and all behind it */
	uint32_t what_bytes, target_bytes, type_bytes; /* lengths of the texts, each with its NUL */
	int64_t until_ns;
	uint64_t bytes; /* of the content */
};

/* Writes the body at the descriptor's offset. Returns 0, or a negative errno. */
int spool_file_write(int fd, const struct body *body);

/* Reads a body from the descriptor's offset to the file's end; the caller owns *ret. Returns 0, or
 * a negative errno: -EBADMSG if the file is damaged or has another `until_ns`; -ENOMEM; others. */
int spool_file_read(int fd, int64_t until_ns, struct body **ret);
