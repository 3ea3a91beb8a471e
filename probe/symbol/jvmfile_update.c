// SPDX-License-Identifier: GPL-2.0-only
/* The index: what the file's records say lay where, and when. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bpf/sample.h"
#include "symbol/jvmfile_state.h"

/* What has gone makes room. */
static void drop_gone(struct jvmfile *file)
{
	uint32_t kept = 0;

	map_clear(file->alive);
	for (uint32_t i = 0; i < file->codes_count; i++) {
		uint32_t *place;

		if (file->codes[i].unloaded_ns)
			continue;
		file->codes[kept] = file->codes[i];
		if (map_put(file->alive, &file->codes[kept].from, (void **)&place) >= 0)
			*place = kept;
		kept++;
	}
	file->codes_count = kept;
}

static int make_room(struct jvmfile *file)
{
	if (file->codes_count < file->codes_room)
		return 0;
	if (file->codes_room >= JVMFILE_CODES_MAX) {
		drop_gone(file);
		return file->codes_count < file->codes_room ? 0 : -ENOSPC;
	}
	uint32_t room = file->codes_room ? 2 * file->codes_room : 1024;
	struct jvmfile_code *codes = reallocarray(file->codes, room, sizeof(*codes));
	if (!codes)
		return -ENOMEM;
	file->codes = codes;
	file->codes_room = room;
	return 0;
}

static void unload(struct jvmfile *file, uint64_t address, uint64_t time_ns)
{
	const uint32_t *place = map_get(file->alive, &address);

	if (!place)
		return;
	file->codes[*place].unloaded_ns = time_ns ? time_ns : 1;
	map_del(file->alive, &address);
}

static int add_code(struct jvmfile *file, const struct java_record *record, uint64_t offset)
{
	uint64_t from = record->code.address, to = from + record->code.size;
	uint32_t *place = NULL;

	if (to < from || to > FRAME_ADDRESS)
		return -EBADMSG;
	unload(file, from, record->time_ns);
	int r = make_room(file);
	if (r == 0)
		r = map_put(file->alive, &from, (void **)&place);
	if (r < 0 || !place)
		return r == -ENOSPC ? 0 : r; /* it is lost */
	*place = file->codes_count;
	file->codes[file->codes_count++] = (struct jvmfile_code){
		.from = from,
		.to = to,
		.loaded_ns = record->time_ns,
		.offset = offset,
		.kind = record->kind,
		.flags = record->flags,
	};
	return 0;
}

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
		return has_address ? add_code(file, record, offset) : -EBADMSG;
	case JAVA_CODE:
	case JAVA_STUB:
		return has_address ? add_code(file, record, offset) : -EBADMSG;
	case JAVA_UNLOAD:
		if (has_address)
			unload(file, record->code.address, record->time_ns);
		return has_address ? 0 : -EBADMSG;
	case JAVA_END:
		file->stats.ended = true;
		return 0;
	default:
		return 0; /* of a later version */
	}
}

/* The file that has the name now; as it was when it was opened. */
static int open_file(const struct jvmfile *file, struct stat *stat)
{
	/* A FIFO doesn't hold us up, a device isn't woken. */
	_cleanup_close_ int fd = openat(file->folder_fd, JAVA_SYMBOLS_NAME,
					O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return errno == ELOOP ? -EACCES : -errno;
	if (fstat(fd, stat) < 0)
		return -errno;
	if (!S_ISREG(stat->st_mode) || stat->st_uid != file->owner)
		return -EACCES;
	return TAKE_FD(fd);
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
			return 0; /* its end, or a record that is being written */
		if (r == 0)
			r = add_record(file, record, file->at);
		if (r < 0)
			return r;
		file->at += record->bytes;
		if (file->at > file->bytes_max)
			return -EFBIG;
	}
}

/* Code that is in both files keeps the id that it was given for; they have the same order. */
static void keep_ids(struct jvmfile *file, const struct jvmfile_code *before, uint32_t count)
{
	for (uint32_t i = 0, j = 0; i < count; i++) {
		if (!before[i].id)
			continue;
		for (uint32_t at = j; at < file->codes_count; at++) {
			struct jvmfile_code *code = &file->codes[at];

			if (code->loaded_ns > before[i].loaded_ns)
				break;
			if (code->from == before[i].from &&
			    code->loaded_ns == before[i].loaded_ns) {
				code->id = before[i].id;
				j = at + 1;
				break;
			}
		}
	}
}

/* A new one in place of the old, all of which is read. */
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
	free(TAKE_PTR(file->methods));
	file->methods_room = 0;
	map_clear(file->alive);
	int r = read_header(file);
	if (r < 0) {
		cleanup_close(&file->fd);
		file->fd = -1;
		return r;
	}
	r = read_records(file);
	keep_ids(file, before, count);
	return r;
}

static int update(struct jvmfile *file)
{
	struct stat stat = {0};
	_cleanup_close_ int fd = open_file(file, &stat);

	if (fd < 0)
		return fd;
	if (stat.st_size > (off_t)file->bytes_max)
		return -EFBIG;
	if (file->fd < 0 || stat.st_dev != file->device || stat.st_ino != file->inode)
		return begin_again(file, &fd, &stat);
	return read_records(file);
}

int jvmfile_update(struct jvmfile *file)
{
	if (pthread_mutex_trylock(&file->lock))
		return -EBUSY;
	int r = update(file);
	pthread_mutex_unlock(&file->lock);
	return r;
}
