// SPDX-License-Identifier: GPL-2.0-or-later
/* A body's file of the spool, as it is and with the sums mended that only our own files have right;
 * and its name. */
#include "fuzz.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "upload/spool/spool_file.h"
#include "upload/spool/spool_folder.h"

#define CRC_FROM (offsetof(struct spool_header, crc) + sizeof(uint32_t))

/* What can be read is what would be written again. */
static void check(const uint8_t *data, size_t bytes, int64_t until_ns)
{
	_cleanup_close_ int fd = memfd_create("body", MFD_CLOEXEC);
	_cleanup_close_ int again = memfd_create("again", MFD_CLOEXEC);
	_cleanup_body_ struct body *body = NULL;
	_cleanup_buf_ struct buf written = BUF_INIT(SIZE_MAX);

	demand(fd >= 0 && again >= 0);
	demand(file_write_all(fd, (const char *)data, bytes) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	int r = spool_file_read(fd, until_ns, &body);
	demand(r == 0 || (!body && (r == -EBADMSG || r == -ENOMEM)));
	if (r < 0)
		return;
	demand(body->until_ns == until_ns && spool_file_bytes(body) == bytes);
	demand(spool_file_write(again, body) == 0 && lseek(again, 0, SEEK_SET) == 0);
	demand(file_read_fd(again, &written) == 0 && written.len == bytes);
	demand(memcmp(written.data, data, bytes) == 0);
}

static void check_name(const uint8_t *data, size_t bytes)
{
	static const char *const suffixes[] = {SPOOL_WAITS, SPOOL_SENT, SPOOL_AGAIN, SPOOL_WRITTEN};
	char name[SPOOL_NAME_MAX] = "", made[SPOOL_NAME_MAX];
	struct spool_key key;

	memcpy(name, data, bytes < sizeof(name) - 1 ? bytes : sizeof(name) - 1);
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		if (!spool_name_read(name, suffixes[i], &key))
			continue;
		spool_name_make(&key, suffixes[i], made);
		demand(key.until_ns >= 0 && strcmp(made, name) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	_cleanup_free_ uint8_t *mended = malloc(bytes + 1);
	struct spool_header header = {0};

	demand(mended != NULL);
	if (bytes) {
		memcpy(mended, data, bytes);
		check_name(data, bytes);
	}
	check(data, bytes, 0);
	if (bytes < sizeof(header))
		return 0;
	memcpy(&header, data, sizeof(header));
	header.magic = SPOOL_MAGIC;
	header.version = SPOOL_VERSION;
	uint64_t texts = (uint64_t)header.what_bytes + header.target_bytes + header.type_bytes;
	if (header.until_ns & 1 && texts <= bytes - sizeof(header)) /* else as it says */
		header.bytes = bytes - sizeof(header) - texts;
	memcpy(mended, &header, sizeof(header));
	header.crc = (uint32_t)crc32_z(0, mended + CRC_FROM, bytes - CRC_FROM);
	memcpy(mended, &header, sizeof(header));
	check(mended, bytes, header.until_ns);
	return 0;
}
