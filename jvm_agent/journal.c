// SPDX-License-Identifier: GPL-2.0-or-later
#include "journal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#define FILE_MODE 0600
#define GRACE_NS  60000000000ULL /* a daemon has as long to take its lock */
#define LOOK_NS	  1000000000ULL
#define NEW_NAME  JAVA_SYMBOLS_NAME ".new"

int journal_write(int fd, const void *data, size_t bytes)
{
	const uint8_t *at = data;

	while (bytes) {
		long n = sys_write(fd, at, bytes);

		if (n == -EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? (int)n : -EIO;
		at += n;
		bytes -= (size_t)n;
	}
	return 0;
}

int journal_begin(const struct journal *journal)
{
	struct java_symbols_header header = {
		.magic = JAVA_SYMBOLS_MAGIC,
		.version = JAVA_SYMBOLS_VERSION,
		.bytes = sizeof(header),
		.pid = (uint32_t)sys_getpid(),
		.rewrites = journal->rewrites,
		.began_ns = journal->began_ns,
	};

	sys_unlink(journal->folder, NEW_NAME, 0);
	long fd =
		sys_open(journal->folder, NEW_NAME,
			 O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_APPEND, FILE_MODE);
	if (fd < 0)
		return (int)fd;
	int r = journal_write((int)fd, &header, sizeof(header));
	if (r < 0) {
		sys_close((int)fd);
		sys_unlink(journal->folder, NEW_NAME, 0);
		return r;
	}
	return (int)fd;
}

int journal_open(struct journal *journal, const char *folder, uint64_t max)
{
	size_t len = text_length(folder);
	/* So what was made for the one before isn't taken for this one's. */
	uint32_t rewrites = journal->folder_path[0] ? journal->rewrites + 1 : 0;

	if (len >= sizeof(journal->folder_path))
		return -ENAMETOOLONG;
	*journal = (struct journal){.folder = -1, .fd = -1, .max = max, .rewrites = rewrites};
	memcpy(journal->folder_path, folder, len);
	journal->began_ns = journal->looked_ns = sys_now_ns();
	long r = sys_open(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	if (r < 0)
		return (int)r;
	journal->folder = (int)r;
	r = journal->fd = journal_begin(journal);
	if (r >= 0)
		r = sys_rename(journal->folder, NEW_NAME, JAVA_SYMBOLS_NAME);
	if (r < 0)
		journal_close(journal, true);
	journal->len = sizeof(struct java_symbols_header);
	return r < 0 ? (int)r : 0;
}

void journal_close(struct journal *journal, bool keep)
{
	struct stat stat;

	if (!keep && journal->folder >= 0) {
		/* Else it has gone, or another agent's has its name. */
		if (sys_stat(journal->fd, &stat) == 0 && stat.st_nlink)
			sys_unlink(journal->folder, JAVA_SYMBOLS_NAME, 0);
		sys_unlink(AT_FDCWD, journal->folder_path, AT_REMOVEDIR);
	}
	if (journal->fd >= 0)
		sys_close(journal->fd);
	if (journal->folder >= 0)
		sys_close(journal->folder);
	journal->fd = journal->folder = -1;
	table_free(&journal->methods);
	table_free(&journal->alive);
}

bool journal_is_read(struct journal *journal)
{
	uint64_t now = sys_now_ns();
	struct stat stat;

	if (journal->fd < 0 || sys_stat(journal->fd, &stat) < 0 || stat.st_nlink == 0)
		return false;
	if (now - journal->began_ns < GRACE_NS || now - journal->looked_ns < LOOK_NS)
		return true;
	journal->looked_ns = now;
	/* Daemons have it shared. */
	if (sys_flock(journal->folder, LOCK_EX | LOCK_NB) < 0)
		return true;
	sys_flock(journal->folder, LOCK_UN);
	return false;
}

/* What is there now has gone, or is replaced. */
static void journal_bury(struct journal *journal, uint64_t address)
{
	struct table_slot *slot = table_find(&journal->alive, address);

	if (!slot)
		return;
	journal->dead += (slot->value & 0xffffff) * 8;
	table_drop(&journal->alive, slot);
}

/* Records of what has gone: what isn't told would be taken for alive. */
static bool is_small(uint16_t kind)
{
	return kind == JAVA_UNLOAD || kind == JAVA_LOST || kind == JAVA_END;
}

/* Some room is for those alone. */
static uint64_t limit_of(const struct journal *journal, uint16_t kind)
{
	return is_small(kind) ? journal->max : journal->max - journal->max / 16;
}

static int make_room(struct journal *journal, const struct java_record *record)
{
	if (journal->len + record->bytes <= limit_of(journal, record->kind))
		return 0;
	/* Where nearly all is alive a new file would be full at once, too. */
	if (!is_small(record->kind) && journal->dead < journal->max / 8)
		return -ENOSPC;
	int r = journal_rewrite(journal);
	if (r < 0)
		return r;
	return journal->len + record->bytes <= limit_of(journal, record->kind) ? 0 : -ENOSPC;
}

static void note(struct journal *journal, const struct java_record *record)
{
	switch (record->kind) {
	case JAVA_CODE:
	case JAVA_STUB:
		journal_bury(journal, record->code.address);
		if (!table_put(&journal->alive, record->code.address,
			       journal->len << 24 | record->bytes / 8))
			journal->dead += record->bytes; /* lost at the next rewriting */
		break;
	case JAVA_UNLOAD:
	case JAVA_LOST:
		journal_bury(journal, record->code.address);
		journal->dead += record->bytes;
		break;
	default:
		break;
	}
}

int journal_add(struct journal *journal, struct bytes *bytes)
{
	struct java_record *record;

	bytes_align(bytes);
	if (bytes->failed || bytes->len > JAVA_SYMBOLS_RECORD_MAX)
		return -ENOSPC;
	record = (struct java_record *)bytes->data;
	record->bytes = (uint32_t)bytes->len;
	record->time_ns = sys_now_ns();
	record->check = java_record_check(record, record->bytes);
	int r = make_room(journal, record);
	if (r < 0)
		return r;
	r = journal_write(journal->fd, record, record->bytes);
	if (r < 0) { /* a full disk: what was written of it has to go */
		int undone = (int)sys_truncate(journal->fd, journal->len);
		return undone < 0 ? undone : -ENOSPC;
	}
	note(journal, record);
	journal->len += record->bytes;
	return 0;
}
