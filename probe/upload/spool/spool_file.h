/* SPDX-License-Identifier: GPL-2.0-only */
/* The content of a body's file (upload/spool/spool.h). */
#pragma once

#include "upload/http/body.h"

#define SPOOL_MAGIC   0x4c505053U /* "SPPL", as this machine writes numbers */
#define SPOOL_VERSION 1

struct spool_header {
	uint32_t magic, version;
	uint32_t crc; /* of the rest of the header and all behind it */
	uint32_t what_bytes, target_bytes, type_bytes; /* each with its NUL */
	int64_t until_ns;
	uint64_t bytes;
};

/* Writes it at the descriptor's place. Negative errno. */
int spool_file_write(int fd, const struct body *body);

/* Reads it from there. -EBADMSG: damaged, or another body's (`until_ns`). */
int spool_file_read(int fd, int64_t until_ns, struct body **ret);
