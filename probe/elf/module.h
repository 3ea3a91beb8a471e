/* SPDX-License-Identifier: GPL-2.0-only */
/* A file with code, as pprof has its mappings: what a place in it needs to be found again. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct module {
	const char *path; /* as its process sees it; needs no NUL */
	size_t path_len;
	const uint8_t *build_id;
	size_t build_id_len;		/* 0: none */
	uint64_t from, to, file_offset; /* the segment with its code, as it was linked */
};
