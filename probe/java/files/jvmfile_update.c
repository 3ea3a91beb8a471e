// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the new part of the file, or a new file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "loop/loop.h"
#include "proc/foreign.h"
#include "java/files/jvmfile_state.h"

static int add_method(struct jvmfile *file, uint32_t number, uint64_t offset)
{
	if (!number || number >= JVMFILE_METHODS_MAX)
		return -EBADMSG;
	if (number >= file->methods_room) {
		uint32_t room = file->methods_room ? file->methods_room : 1024;

		while (room <= number)
			room *= 2;
		uint64_t *methods = reallocarray(file->methods, room, sizeof(*methods));
		if (!methods)
			return -ENOMEM;
		memset(methods + file->methods_room, 0,
		       (room - file->methods_room) * sizeof(*methods));
		file->methods = methods;
		file->methods_room = room;
	}
	file->methods[number] = offset;
	return 0;
}

static int add_record(struct jvmfile *file, const struct java_record *record, uint64_t offset)
{
	bool has_address = record->bytes >= JAVA_CODE_BYTES;

	switch (record->kind) {
	case JAVA_METHOD:
		return add_method(file, record->method, offset);
	case JAVA_LOST:
		file->stats.lost++;
		return has_address ? jvmfile_add(file, record, offset) : -EBADMSG;
	case JAVA_CODE:
	case JAVA_STUB:
		return has_address ? jvmfile_add(file, record, offset) : -EBADMSG;
	case JAVA_UNLOAD:
		if (has_address)
			jvmfile_unload(file, record->code.address, record->time_ns);
		return has_address ? 0 : -EBADMSG;
	case JAVA_END:
		file->stats.ended = true;
		file->ended_ns = record->time_ns;
		return 0;
	default:
		return 0; /* a kind of a later version */
	}
}

/* Opens the file that has the name now, and sets *stat. */
static int open_file(const struct jvmfile *file, struct stat *stat)
{
	const struct foreign symbols = {
		.root_fd = file->folder_fd,
		.path = JAVA_SYMBOLS_NAME,
		.links = FOREIGN_NO_LINKS,
		.rules = {.owners = &file->owner, .owners_count = 1},
	};
	int fd = foreign_open(&symbols, stat);

	switch (fd) {
	case -ELOOP:
	case -EINVAL:
	case -ENODEV:
	case -EPERM:
		return -EACCES;
	default:
		return fd;
	}
}

static int read_header(struct jvmfile *file)
{
	struct java_symbols_header header;
	ssize_t n = pread(file->fd, &header, sizeof(header), 0);

	if (n < 0)
		return -errno;
	if ((size_t)n < sizeof(header) || header.magic != JAVA_SYMBOLS_MAGIC ||
	    header.version != JAVA_SYMBOLS_VERSION || header.bytes < sizeof(header) ||
	    header.bytes % 8 || header.bytes > 4096)
		return -EBADMSG;
	file->at = header.bytes;
	file->began_ns = header.began_ns;
	file->stats.rewrites = header.rewrites;
	return 0;
}

static int read_records(struct jvmfile *file)
{
	_cleanup_free_ struct java_record *record = malloc(JVMFILE_RECORD_MAX);

	if (!record)
		return -ENOMEM;
	for (;;) {
		int r = jvmfile_load(file, file->at, record, JVMFILE_RECORD_MAX);

		if (r == -EAGAIN)
			return 0; /* the file's end, or a record that is being written */
		if (r == 0)
			r = add_record(file, record, file->at);
		if (r < 0)
			return r;
		file->at += record->bytes;
		if (file->at > file->bytes_max)
			return -EFBIG;
	}
}

/* Goes over to a new file, once all of the old file is read. */
static int begin_again(struct jvmfile *file, int *fd, const struct stat *stat)
{
	_cleanup_free_ struct jvmfile_code *before = TAKE_PTR(file->codes);
	uint32_t count = file->codes_count;

	cleanup_close(&file->fd);
	file->fd = TAKE_FD(*fd);
	file->device = stat->st_dev;
	file->inode = stat->st_ino;
	file->codes_count = file->codes_room = 0;
	file->stats = (struct jvmfile_stats){0};
	file->generated_ns = file->ended_ns = 0;
	free(TAKE_PTR(file->methods));
	file->methods_room = 0;
	map_clear(file->alive);
	jvmfile_disorder(file);
	int r = read_header(file);
	if (r < 0) {
		cleanup_close(&file->fd);
		file->fd = -1;
		return r;
	}
	r = read_records(file);
	jvmfile_keep(file, before, count);
	return r;
}

/* Reads the rest of the open file, even if another file has the name now. */
static int read_rest(struct jvmfile *file)
{
	uint64_t now = loop_now_ns();
	int r = file->fd < 0 ? -ENOENT : read_records(file);

	if (r == 0)
		file->read_ns = now;
	return r;
}

static int update_file(struct jvmfile *file)
{
	uint64_t now = loop_now_ns();
	struct stat stat = {0};
	_cleanup_close_ int fd = open_file(file, &stat);
	int r = read_rest(file);

	if (fd < 0)
		return fd;
	if (stat.st_size > (off_t)file->bytes_max)
		return -EFBIG;
	if (file->fd < 0 || stat.st_dev != file->device || stat.st_ino != file->inode) {
		r = begin_again(file, &fd, &stat);
		if (r == 0)
			file->read_ns = now;
	}
	return r;
}

int jvmfile_update(struct jvmfile *file)
{
	if (jvmfile_take(file) < 0)
		return -EBUSY;
	int r = update_file(file);
	jvmfile_forget_answers(file);
	jvmfile_number(file);
	jvmfile_order(file);
	jvmfile_give(file);
	return r;
}
