/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perf_data.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"

/* The file's head. */
struct file_section {
	uint64_t offset, bytes;
};

struct file_head {
	char magic[8]; /* PERFILE2 */
	uint64_t bytes, attr_bytes;
	struct file_section attrs, data;
};

/* What precedes a record's fields that depend on its kind. */
struct record {
	const uint8_t *bytes; /* its struct perf_event_header */
	uint64_t time_ns, position;
};

struct recording {
	const uint8_t *bytes; /* of the whole file */
	size_t bytes_count;
	uint64_t sample_type, regs_mask;
	struct record *records;
	size_t records_count;
	const struct perf_sink *sink;
	struct perf_stats *stats;
};

/* A record's bytes that are not yet read. */
struct cursor {
	const uint8_t *at, *end;
	bool broken; /* it ended too early */
};

/* perf's numbers (arch/x86/include/uapi/asm/perf_regs.h) of DWARF's (System V ABI, AMD64, 3.6.2).
 */
static const uint8_t perf_reg[DWARF_REGS] = {0,	 3,  2,	 1,  4,	 5,  6,	 7, 16,
					     17, 18, 19, 20, 21, 22, 23, 8};

static const void *cursor_take(struct cursor *cursor, uint64_t bytes)
{
	const uint8_t *at = cursor->at;

	if (bytes > (uint64_t)(cursor->end - at)) {
		cursor->broken = true;
		return NULL;
	}
	cursor->at += bytes;
	return at;
}

static uint64_t cursor_u64(struct cursor *cursor)
{
	const void *at = cursor_take(cursor, 8);
	uint64_t value = 0;

	if (at)
		memcpy(&value, at, sizeof(value));
	return value;
}

/* Two 32-bit fields at a time: all records have them so. */
static void cursor_u32s(struct cursor *cursor, uint32_t *first, uint32_t *second)
{
	uint64_t both = cursor_u64(cursor);

	*first = (uint32_t)both;
	*second = (uint32_t)(both >> 32);
}

static struct perf_event_header record_head(const struct record *record)
{
	struct perf_event_header head;

	memcpy(&head, record->bytes, sizeof(head));
	return head;
}

static struct cursor record_cursor(const struct record *record)
{
	return (struct cursor){
		.at = record->bytes + sizeof(struct perf_event_header),
		.end = record->bytes + record_head(record).size,
	};
}

/* A sample's time: behind IDENTIFIER, IP and TID. */
static uint64_t sample_time_ns(const struct recording *recording, const struct record *record)
{
	struct cursor cursor = record_cursor(record);
	uint64_t before = recording->sample_type &
			  (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID);

	cursor_take(&cursor, 8 * (unsigned)__builtin_popcountll(before));
	return cursor_u64(&cursor);
}

/* Another record's time is in its last fields: TID, TIME, ID, STREAM_ID, CPU, IDENTIFIER. */
static uint64_t other_time_ns(const struct recording *recording, const struct record *record)
{
	struct cursor cursor = record_cursor(record);
	uint64_t from_time = recording->sample_type &
			     (PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
			      PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER);
	uint64_t bytes = 8 * (uint64_t)__builtin_popcountll(from_time);

	if (bytes > (uint64_t)(cursor.end - cursor.at))
		return 0;
	cursor.at = cursor.end - bytes;
	return cursor_u64(&cursor);
}

static int record_add(struct recording *recording, size_t *room, const uint8_t *at)
{
	struct record record = {.bytes = at, .position = (uint64_t)(at - recording->bytes)};
	struct perf_event_header head = record_head(&record);

	if (head.type == PERF_RECORD_SAMPLE)
		record.time_ns = sample_time_ns(recording, &record);
	else if (head.type < PERF_RECORD_MAX)
		record.time_ns = other_time_ns(recording, &record);
	else
		return 0; /* perf's own records */
	if (recording->records_count == *room) {
		size_t more = *room ? *room * 2 : 1024;
		struct record *grown =
			reallocarray(recording->records, more, sizeof(*recording->records));

		if (!grown)
			return -ENOMEM;
		recording->records = grown;
		*room = more;
	}
	recording->records[recording->records_count++] = record;
	return 0;
}

static int compare_records(const void *a, const void *b)
{
	const struct record *left = a, *right = b;

	if (left->time_ns != right->time_ns)
		return left->time_ns < right->time_ns ? -1 : 1;
	return left->position < right->position ? -1 : left->position > right->position;
}

static int collect(struct recording *recording, struct file_section data)
{
	const uint8_t *at, *end;
	size_t room = 0;

	if (data.offset > recording->bytes_count ||
	    data.bytes > recording->bytes_count - data.offset)
		return -EBADMSG;
	at = recording->bytes + data.offset;
	end = at + data.bytes;
	while ((size_t)(end - at) >= sizeof(struct perf_event_header)) {
		struct perf_event_header head;
		int r;

		memcpy(&head, at, sizeof(head));
		if (head.size < sizeof(head) || head.size > end - at)
			return -EBADMSG;
		r = record_add(recording, &room, at);
		if (r < 0)
			return r;
		at += head.size;
	}
	qsort(recording->records, recording->records_count, sizeof(*recording->records),
	      compare_records);
	return 0;
}

/* All events of a recording must have been asked for with the same fields. */
static int read_attrs(struct recording *recording, const struct file_head *head)
{
	const uint64_t unknown = PERF_SAMPLE_READ | PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK;
	const uint64_t needed =
		PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	const struct file_section *attrs = &head->attrs;

	if (attrs->offset > recording->bytes_count ||
	    attrs->bytes > recording->bytes_count - attrs->offset ||
	    head->attr_bytes < PERF_ATTR_SIZE_VER5 || attrs->bytes < head->attr_bytes)
		return -EBADMSG;
	for (uint64_t at = 0; at <= attrs->bytes - head->attr_bytes; at += head->attr_bytes) {
		struct perf_event_attr attr = {0};

		memcpy(&attr, recording->bytes + attrs->offset + at,
		       head->attr_bytes < sizeof(attr) ? head->attr_bytes : sizeof(attr));
		if (at && (attr.sample_type != recording->sample_type ||
			   attr.sample_regs_user != recording->regs_mask))
			return -ENOTSUP;
		if (!attr.sample_id_all)
			return -ENOTSUP;
		recording->sample_type = attr.sample_type;
		recording->regs_mask = attr.sample_regs_user;
	}
	if (recording->sample_type & unknown || (recording->sample_type & needed) != needed)
		return -ENOTSUP;
	for (unsigned i = 0; i < DWARF_REGS; i++)
		if (!(recording->regs_mask & 1ULL << perf_reg[i]))
			return -ENOTSUP;
	return 0;
}

/* perf writes the registers that were asked for by rising number. */
static void take_regs(const struct recording *recording, struct cursor *cursor,
		      struct perf_sample *sample)
{
	uint64_t values[64] = {0};

	for (unsigned bit = 0; bit < 64; bit++)
		if (recording->regs_mask & 1ULL << bit)
			values[bit] = cursor_u64(cursor);
	for (unsigned i = 0; i < DWARF_REGS; i++)
		sample->regs[i] = values[perf_reg[i]];
}

static void take_stack(struct cursor *cursor, struct perf_sample *sample)
{
	sample->stack_bytes_asked = cursor_u64(cursor);
	if (!sample->stack_bytes_asked)
		return;
	sample->stack = cursor_take(cursor, sample->stack_bytes_asked);
	sample->stack_bytes = cursor_u64(cursor);
	if (sample->stack_bytes > sample->stack_bytes_asked)
		cursor->broken = true;
}

static int read_sample(const struct recording *recording, const struct record *record)
{
	struct cursor cursor = record_cursor(record);
	uint64_t type = recording->sample_type, abi;
	struct perf_sample sample = {0};

	cursor_take(&cursor, 8 * (unsigned)__builtin_popcountll(
					 type & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP)));
	cursor_u32s(&cursor, &sample.pid, &sample.tid);
	cursor_take(&cursor, 8 * (unsigned)__builtin_popcountll(
					 type & (PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
						 PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
						 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)));
	if (type & PERF_SAMPLE_CALLCHAIN) {
		uint64_t count = cursor_u64(&cursor);

		cursor_take(&cursor, count < UINT16_MAX ? count * 8 : UINT64_MAX);
	}
	abi = cursor_u64(&cursor);
	if (abi != PERF_SAMPLE_REGS_ABI_64) {
		if (abi)
			recording->stats->not_64bit++;
		else
			recording->stats->no_user++;
		return cursor.broken ? -EBADMSG : 0;
	}
	take_regs(recording, &cursor, &sample);
	take_stack(&cursor, &sample);
	if (cursor.broken)
		return -EBADMSG;
	sample.in_kernel = (record_head(record).misc & PERF_RECORD_MISC_CPUMODE_MASK) ==
			   PERF_RECORD_MISC_KERNEL;
	recording->stats->samples++;
	recording->sink->sample(recording->sink->arg, &sample);
	return 0;
}

static int read_map(const struct recording *recording, const struct record *record)
{
	struct perf_event_header head = record_head(record);
	struct cursor cursor = record_cursor(record);
	uint32_t pid, tid, protection = PROT_EXEC, flags;
	struct perf_map map = {0};

	cursor_u32s(&cursor, &pid, &tid);
	map.pid = pid;
	map.start = cursor_u64(&cursor);
	map.bytes = cursor_u64(&cursor);
	map.file_offset = cursor_u64(&cursor);
	if (head.type == PERF_RECORD_MMAP2) {
		cursor_take(&cursor, 24); /* the file's inode or build id */
		cursor_u32s(&cursor, &protection, &flags);
	}
	if (cursor.broken || !memchr(cursor.at, '\0', (size_t)(cursor.end - cursor.at)))
		return -EBADMSG;
	map.executable = protection & PROT_EXEC && !(head.misc & PERF_RECORD_MISC_MMAP_DATA);
	map.path = (const char *)cursor.at;
	if ((head.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER)
		recording->sink->map(recording->sink->arg, &map);
	return 0;
}

static int read_record(const struct recording *recording, const struct record *record)
{
	struct perf_event_header head = record_head(record);
	struct cursor cursor = record_cursor(record);
	uint32_t pid, other;

	switch (head.type) {
	case PERF_RECORD_SAMPLE:
		return read_sample(recording, record);
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return read_map(recording, record);
	case PERF_RECORD_FORK:
		cursor_u32s(&cursor, &pid, &other);
		if (pid != other)
			recording->sink->fork(recording->sink->arg, pid, other);
		break;
	case PERF_RECORD_COMM:
		cursor_u32s(&cursor, &pid, &other);
		if (head.misc & PERF_RECORD_MISC_COMM_EXEC)
			recording->sink->exec(recording->sink->arg, pid);
		break;
	case PERF_RECORD_LOST:
		cursor_u64(&cursor);
		recording->stats->lost += cursor_u64(&cursor);
		break;
	default:
		break;
	}
	return cursor.broken ? -EBADMSG : 0;
}

static int read_all(struct recording *recording)
{
	struct file_head head;
	int r;

	if (recording->bytes_count < sizeof(head))
		return -EBADMSG;
	memcpy(&head, recording->bytes, sizeof(head));
	if (memcmp(head.magic, "PERFILE2", sizeof(head.magic)) != 0)
		return -EBADMSG;
	r = read_attrs(recording, &head);
	if (r < 0)
		return r;
	r = collect(recording, head.data);
	for (size_t i = 0; !r && i < recording->records_count; i++)
		r = read_record(recording, &recording->records[i]);
	return r;
}

int perf_data_read(const char *path, const struct perf_sink *sink, struct perf_stats *stats)
{
	struct recording recording = {.sink = sink, .stats = stats};
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	void *bytes;
	int r;

	*stats = (struct perf_stats){0};
	if (fd < 0 || fstat(fd, &status) < 0)
		return -errno;
	if (!status.st_size)
		return -EBADMSG;
	/* A file of our own that has been written: nobody makes it shorter. */
	bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	recording.bytes = bytes;
	recording.bytes_count = (size_t)status.st_size;
	r = read_all(&recording);
	free(recording.records);
	munmap(bytes, recording.bytes_count);
	return r;
}
