// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Bytes as java-symbols.bin, behind a right header. The first byte tells whether records get a
 * right check, so that what is in them is read, and whether it is another file the second time; the
 * next ones an address, where the file is cut first, and times.
 */
#include "fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jvm_agent/format.h"
#include "bpf/shared/sample.h"
#include "java/code/jvmcode_struct.h"
#include "loop/worker.h"
#include "java/files/jvmfile.h"

#define HEADER_BYTES 8
#define FILE_BYTES   (1 << 16)
#define CODE_AT	     0x7f0000001000

/* In memory, and gone with the process. */
static char path[] = "/dev/shm/stackprobe-fuzz-XXXXXX";

static void folder_remove(void)
{
	char file[64];

	snprintf(file, sizeof(file), "%s/" JAVA_SYMBOLS_NAME, path);
	unlink(file);
	rmdir(path);
}

static int folder_open(void)
{
	static int fd = -1;

	if (fd < 0) {
		demand(mkdtemp(path) != NULL);
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		demand(fd >= 0);
		atexit(folder_remove);
	}
	return fd;
}

static void fix_checks(uint8_t *file, size_t bytes)
{
	size_t at = sizeof(struct java_symbols_header);

	while (bytes - at >= JAVA_RECORD_BYTES) {
		struct java_record *record = (struct java_record *)(file + at);

		record->bytes &= ~7U;
		if (record->bytes < JAVA_RECORD_BYTES || record->bytes > bytes - at)
			record->bytes = JAVA_RECORD_BYTES;
		record->check = java_record_check(record, record->bytes);
		at += record->bytes;
	}
}

static void check_text(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		demand(text[i]);
}

static void check_piece(struct jvmcode *code, uint64_t address)
{
	static const uint64_t kinds[] = {FRAME_JAVA, FRAME_JAVA_RETURN};
	struct jvm_frame frames[JVM_FRAMES_MAX];
	uint64_t from = code->from, to = code->to;
	bool unsure;

	demand(from <= address && address < to);
	for (uint64_t pc = from; pc < to && pc < from + 300; pc++) {
		uint64_t word = kinds[pc & 1] << FRAME_KIND_SHIFT | pc;
		size_t count = jvmcode_frames(code, word, 1, frames, &unsure);

		demand(count >= 1 && count <= JVM_FRAMES_MAX);
		for (size_t i = 0; i < count; i++) {
			check_text(frames[i].class_name, frames[i].class_len);
			check_text(frames[i].method, frames[i].method_len);
			check_text(frames[i].signature, frames[i].signature_len);
			check_text(frames[i].file, frames[i].file_len);
		}
	}
	demand(jvmcode_bytes(code) < 8U << 20);
	jvmcode_unref(code);
}

static void put(int folder, const uint8_t *file, size_t bytes)
{
	int fd = openat(folder, JAVA_SYMBOLS_NAME, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	demand(fd >= 0 && write(fd, file, bytes) == (ssize_t)bytes);
	close(fd);
}

/* By the times of what was told. */
static void find(struct jvmfile *file, uint64_t address, uint64_t from_ns, uint64_t until_ns)
{
	struct jvmfile_found found;
	struct jvmcode *code;

	if (jvmfile_find(file, address, from_ns, until_ns, &found) < 0)
		return;
	demand(found.number > 0);
	if (jvmfile_read_found(file, address, found.number, &code) == 0)
		check_piece(code, address);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct java_symbols_header header = {
		JAVA_SYMBOLS_MAGIC, JAVA_SYMBOLS_VERSION, sizeof(header), 1, 0, 1};
	static uint8_t file[FILE_BYTES];
	struct jvmcode *code;
	struct jvmfile *known;
	size_t len;
	int folder = folder_open();

	if (bytes < HEADER_BYTES || bytes > FILE_BYTES - sizeof(header))
		return 0;
	uint64_t address = CODE_AT + data[1];
	len = sizeof(header) + bytes - HEADER_BYTES;
	memcpy(file, &header, sizeof(header));
	memcpy(file + sizeof(header), data + HEADER_BYTES, bytes - HEADER_BYTES);
	if (data[0] & 1)
		fix_checks(file, len);
	demand(jvmfile_new(&known, dup(folder), geteuid(), FILE_BYTES, NULL, JOB_OWN) == 0);
	put(folder, file, len < sizeof(header) + data[2] ? len : sizeof(header) + data[2]);
	jvmfile_update(known);
	if (data[0] & 2)
		unlinkat(folder, JAVA_SYMBOLS_NAME, 0);
	put(folder, file, len);
	jvmfile_update(known);
	jvmfile_allow(known, 1000);
	uint64_t from_ns = 1 + data[5] * 100000000ULL;
	find(known, address, from_ns, from_ns + data[6] * 100000000ULL);
	for (uint32_t id = 0; id < 3; id++) {
		uint64_t word = (uint64_t)FRAME_JAVA << FRAME_KIND_SHIFT | address;

		struct jvmfile_memory memory = {data[3] % 3, CODE_AT, CODE_AT + data[4]};

		if (jvmfile_read(known, word, id, &memory, &code) == 0)
			check_piece(code, address);
	}
	jvmfile_forget(known, from_ns);
	find(known, address, from_ns, from_ns);
	jvmfile_unref(known);
	return 0;
}
