/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One place in a file at a time, for tests of native_resolve(). */
#pragma once

#include "unit/lib/unit.h"

#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/native.h"

struct program {
	int fd, debug_fd;
};

static inline void program_close(const struct program *program)
{
	if (program->fd >= 0)
		close(program->fd);
	if (program->debug_fd >= 0)
		close(program->debug_fd);
}
#define _cleanup_program_ _cleanup_(program_close)

struct looked_up {
	char name[256]; /* cut; "": none */
	uint64_t address, from, to;
};

/* -ENOENT: in no executable segment; or the error of native_resolve(). */
static inline int look_up(const struct program *program, uint64_t offset, struct looked_up *result)
{
	struct native_function function = {.offset = offset};
	_cleanup_buf_ struct buf names = BUF_INIT(1 << 20);
	int r = native_resolve(program->fd, program->debug_fd, true, &function, 1, &names, NULL);

	if (r < 0)
		return r;
	if (function.from == function.to)
		return -ENOENT;
	*result = (struct looked_up){
		.address = function.address, .from = function.from, .to = function.to};
	assert_true(function.from <= offset && offset < function.to);
	if (function.name != NATIVE_NO_NAME)
		snprintf(result->name, sizeof(result->name), "%s", names.data + function.name);
	return 0;
}
