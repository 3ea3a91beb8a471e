/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file with code, as a pprof mapping describes it: what a tool needs to find the file again and
 * an address in it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct module {
	const char *path; /* as the process sees the file; needs no NUL */
	size_t path_len;
	const uint8_t *build_id;
	size_t build_id_len; /* 0: none */
	/* The segment with the code: addresses as linked, and the segment's offset in the file. */
	uint64_t from, to, file_offset;
};
