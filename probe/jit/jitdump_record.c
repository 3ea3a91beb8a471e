// SPDX-License-Identifier: GPL-2.0-or-later
#include "jit/jitdump_record.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC		0x4a695444u /* "JiTD", in the file's byte order */
#define FILE_VERSION	1
#define HEADER_MAX	4096
#define ARCH_TIMESTAMP	1 /* a bit of the header's flags */
#define CIE_BYTES_LEAST 8 /* its length and its id, which is 0 */

#if defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_X86_64
#endif

/* As they lie in the file. */
struct jitdump_raw_header {
	uint32_t magic, version, bytes, machine, pad, pid;
	uint64_t time, flags;
};

struct jitdump_raw_head {
	uint32_t kind, bytes;
	uint64_t time;
};

struct jitdump_raw_load {
	uint32_t pid, tid;
	uint64_t vma, start, bytes, index;
};

struct jitdump_raw_move {
	uint32_t pid, tid;
	uint64_t vma, from, start, bytes, index;
};

struct jitdump_raw_unwinding {
	uint64_t bytes, head_bytes, mapped_bytes;
};

bool jitdump_is_path(const char *path, pid_t pid)
{
	static const char begin[] = "jit-";
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char *end;

	if (strncmp(name, begin, sizeof(begin) - 1) != 0)
		return false;
	name += sizeof(begin) - 1;
	if (*name < '1' || *name > '9')
		return false;
	return strtoul(name, &end, 10) == (unsigned long)pid && strcmp(end, ".dump") == 0;
}

/* Returns `bytes` bytes of the file, of which it has so many; *error says why there are none. */
static const uint8_t *view_bytes(struct jitdump_reader *reader, uint64_t at, size_t bytes,
				 int *error)
{
	uint64_t away = at - reader->block_at;

	if (at >= reader->block_at && away <= reader->block_bytes &&
	    bytes <= reader->block_bytes - away)
		return reader->block + away;
	ssize_t n = pread(reader->fd, reader->block, sizeof(reader->block), (off_t)at);
	reader->block_at = at;
	reader->block_bytes = n < 0 ? 0 : (size_t)n;
	if (n >= 0 && (size_t)n >= bytes)
		return reader->block;
	*error = n < 0 ? -errno : -ESTALE;
	return NULL;
}

int jitdump_reader_go_on(struct jitdump_reader *reader, int fd, uint64_t at)
{
	struct stat stat;

	reader->fd = fd;
	reader->at = at;
	reader->block_at = reader->block_bytes = 0;
	if (fstat(fd, &stat) < 0)
		return -errno;
	reader->end = (uint64_t)stat.st_size;
	return reader->end < at ? -ESTALE : 0;
}

int jitdump_reader_begin(struct jitdump_reader *reader, int fd, pid_t pid)
{
	struct jitdump_raw_header header;
	int r = jitdump_reader_go_on(reader, fd, 0);

	if (r < 0)
		return r;
	if (reader->end < sizeof(header))
		return -EAGAIN;
	const uint8_t *bytes = view_bytes(reader, 0, sizeof(header), &r);
	if (!bytes)
		return r;
	memcpy(&header, bytes, sizeof(header));
	if (header.magic != MAGIC || header.version != FILE_VERSION || header.machine != MACHINE ||
	    header.bytes < sizeof(header) || header.bytes > HEADER_MAX)
		return -EBADMSG;
	if (header.flags & ARCH_TIMESTAMP)
		return -ENOTSUP;
	if (header.pid != (uint32_t)pid)
		return -ESRCH;
	if (reader->end < header.bytes)
		return -EAGAIN;
	reader->at = header.bytes;
	return 0;
}

/* ---- one record ---- */

static int take_load(struct jitdump_reader *reader, uint64_t at, uint64_t bytes,
		     struct jitdump_record *record)
{
	struct jitdump_raw_load raw;
	int r = 0;

	if (bytes < sizeof(raw))
		return -EBADMSG;
	uint64_t left = bytes - sizeof(raw);
	size_t most = left < JITDUMP_NAME_MAX ? (size_t)left : JITDUMP_NAME_MAX;
	const uint8_t *from = view_bytes(reader, at, sizeof(raw) + most, &r);
	if (!from)
		return r;
	memcpy(&raw, from, sizeof(raw));
	record->pid = (pid_t)raw.pid;
	record->start = raw.start;
	record->bytes = raw.bytes;
	record->index = raw.index;
	memcpy(record->name, from + sizeof(raw), most);
	record->name[most] = '\0';
	return 1;
}

static int take_move(struct jitdump_reader *reader, uint64_t at, uint64_t bytes,
		     struct jitdump_record *record)
{
	struct jitdump_raw_move raw;
	int r = 0;
	const uint8_t *from = NULL;

	if (bytes < sizeof(raw))
		return -EBADMSG;
	from = view_bytes(reader, at, sizeof(raw), &r);
	if (!from)
		return r;
	memcpy(&raw, from, sizeof(raw));
	record->pid = (pid_t)raw.pid;
	record->from = raw.from;
	record->start = raw.start;
	record->bytes = raw.bytes;
	record->index = raw.index;
	return 1;
}

/* Finds .eh_frame: before .eh_frame_hdr as perf and most programs have it, or behind it as the
 * specification says. It begins with a CIE. */
static int take_unwinding(struct jitdump_reader *reader, uint64_t at, uint64_t bytes,
			  struct jitdump_record *record)
{
	struct jitdump_raw_unwinding raw;
	uint32_t cie[2];
	int r = 0;

	if (bytes < sizeof(raw))
		return -EBADMSG;
	const uint8_t *from = view_bytes(reader, at, sizeof(raw), &r);
	if (!from)
		return r;
	memcpy(&raw, from, sizeof(raw));
	record->frames_bytes = 0;
	if (raw.bytes > bytes - sizeof(raw) || raw.head_bytes > raw.bytes)
		return -EBADMSG;
	uint64_t frames_bytes = raw.bytes - raw.head_bytes;
	if (frames_bytes < CIE_BYTES_LEAST)
		return 1; /* a head alone says that the code keeps frame pointers */
	from = view_bytes(reader, at + sizeof(raw), sizeof(cie), &r);
	if (!from)
		return r;
	memcpy(cie, from, sizeof(cie));
	bool is_first = cie[1] == 0 && cie[0] <= frames_bytes;
	record->frames_at = at + sizeof(raw) + (is_first ? 0 : raw.head_bytes);
	record->frames_bytes = frames_bytes;
	return 1;
}

int jitdump_reader_next(struct jitdump_reader *reader, struct jitdump_record *record)
{
	struct jitdump_raw_head head;
	uint64_t left = reader->end - reader->at;
	int r = 0;

	if (left < sizeof(head))
		return 0;
	const uint8_t *bytes = view_bytes(reader, reader->at, sizeof(head), &r);
	if (!bytes)
		return r;
	memcpy(&head, bytes, sizeof(head));
	if (head.bytes < sizeof(head))
		return -EBADMSG;
	if (head.bytes > left)
		return 0;
	record->kind = head.kind;
	record->time_ns = head.time;
	uint64_t at = reader->at + sizeof(head), behind = head.bytes - sizeof(head);
	if (head.kind == JITDUMP_LOAD)
		r = take_load(reader, at, behind, record);
	else if (head.kind == JITDUMP_MOVE)
		r = take_move(reader, at, behind, record);
	else if (head.kind == JITDUMP_UNWINDING)
		r = take_unwinding(reader, at, behind, record);
	else
		r = 1;
	if (r == 1)
		reader->at += head.bytes;
	return r;
}
