// SPDX-License-Identifier: GPL-2.0-or-later
#include "java/files/jvmfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "loop/close_job.h"
#include "loop/loop.h"
#include "bpf/shared/sample.h"
#include "java/files/jvmfile_state.h"

int jvmfile_new(struct jvmfile **ret, int folder_fd, uid_t owner, size_t bytes_max,
		struct worker *closer, uint64_t whose)
{
	_cleanup_close_ int folder = folder_fd;
	struct jvmfile *file = calloc(1, sizeof(*file));

	if (!file)
		return -ENOMEM;
	if (map_new(&file->alive, sizeof(uint64_t), sizeof(uint32_t), JVMFILE_CODES_MAX) < 0) {
		free(file);
		return -ENOMEM;
	}
	atomic_init(&file->refs, 1);
	atomic_init(&file->steps_left, 0);
	pthread_mutex_init(&file->reads, NULL);
	pthread_rwlock_init(&file->lock, NULL);
	file->folder_fd = TAKE_FD(folder);
	file->fd = -1;
	file->owner = owner;
	file->bytes_max = bytes_max;
	file->closer = closer;
	file->whose = whose;
	*ret = file;
	return 0;
}

void jvmfile_set_other_clock(struct jvmfile *file)
{
	file->other_clock = true;
}

struct jvmfile *jvmfile_ref(struct jvmfile *file)
{
	if (file)
		atomic_fetch_add(&file->refs, 1);
	return file;
}

void jvmfile_unref(struct jvmfile *file)
{
	if (!file || atomic_fetch_sub(&file->refs, 1) != 1)
		return;
	int fds[] = {file->fd, file->folder_fd};
	if (file->closer) {
		close_later(file->closer, file->whose, fds, ARRAY_SIZE(fds), NULL);
	} else {
		cleanup_close(&fds[0]);
		cleanup_close(&fds[1]);
	}
	pthread_mutex_destroy(&file->reads);
	pthread_rwlock_destroy(&file->lock);
	map_free(file->alive);
	free(file->codes);
	free(file->order);
	free(file->reach);
	free(file->methods);
	free(file->answers);
	free(file);
}

int jvmfile_take(struct jvmfile *file)
{
	if (pthread_mutex_trylock(&file->reads))
		return -EBUSY;
	pthread_rwlock_wrlock(&file->lock);
	return 0;
}

void jvmfile_give(struct jvmfile *file)
{
	pthread_rwlock_unlock(&file->lock);
	pthread_mutex_unlock(&file->reads);
}

int jvmfile_load(const struct jvmfile *file, uint64_t offset, struct java_record *record,
		 uint32_t max)
{
	ssize_t n = pread(file->fd, record, JAVA_RECORD_BYTES, (off_t)offset);

	if (n < 0)
		return -errno;
	if ((size_t)n < JAVA_RECORD_BYTES)
		return -EAGAIN;
	uint32_t bytes = record->bytes;
	if (bytes % 8 || bytes < JAVA_RECORD_BYTES || bytes > max)
		return -EBADMSG;
	n = pread(file->fd, record, bytes, (off_t)offset);
	if (n < 0)
		return -errno;
	/* The length or the content changed meanwhile: this is another record. */
	if ((size_t)n < bytes || record->bytes != bytes ||
	    java_record_check(record, bytes) != record->check)
		return -EAGAIN;
	return 0;
}

/* Returns whether a loaded code may be the one with that id. The VM tells of code some moments
 * late, so the code that is there now may not be in the file yet. */
static bool may_be_there(const struct jvmfile_code *code, uint32_t id,
			 const struct jvmfile_memory *memory)
{
	if (memory->what == JVMFILE_GONE)
		return false;
	return memory->what == JVMFILE_UNKNOWN || !id ||
	       (code->from == memory->from && code->to == memory->to);
}

/* Returns the newest code that had the address and may have that id; NULL: none. *unsure: another
 * code may be meant. */
static struct jvmfile_code *find_code(struct jvmfile *file, uint64_t address, uint32_t id,
				      const struct jvmfile_memory *memory, bool *unsure)
{
	uint64_t now = loop_now_ns();
	struct jvmfile_code *best = NULL;
	struct jvmfile_hits hits = {.count = 0};

	*unsure = false;
	jvmfile_hits(file, address, JVMFILE_READ_MOST, &hits);
	if (hits.more)
		return NULL; /* newer ones may be missing */
	for (uint32_t i = 0; i < hits.count; i++) {
		struct jvmfile_code *code = &file->codes[hits.places[i]];

		/* A call may be the last instruction: then it returns to the code's end. */
		if (address == code->to && best)
			continue;
		if (code->id && code->id == id)
			return code;
		if (code->id)
			continue;
		bool alive = !code->unloaded_ns;
		if (alive ? !may_be_there(code, id, memory) : memory->what == JVMFILE_THERE)
			continue;
		if (!alive && (file->other_clock || now - code->unloaded_ns > JVMFILE_MOMENT_NS))
			break; /* it was unloaded before the sample */
		if (best) {
			*unsure = file->other_clock || best->unloaded_ns ||
				  now - best->loaded_ns < JVMFILE_MOMENT_NS;
			break;
		}
		best = code;
	}
	return best;
}

int jvmfile_make(struct jvmfile *file, const struct jvmfile_code *code, uint32_t id,
		 struct jvmcode **ret)
{
	_cleanup_free_ struct java_record *record = NULL;

	if (!code->offset)
		return -ESTALE;
	record = malloc(JVMFILE_RECORD_MAX);
	if (!record)
		return -ENOMEM;
	int r = jvmfile_load(file, code->offset, record, JVMFILE_RECORD_MAX);
	if (r == -EAGAIN)
		return -ESTALE; /* the file was changed */
	if (r < 0)
		return r;
	if (record->kind != code->kind || record->bytes < JAVA_CODE_BYTES ||
	    record->code.address != code->from)
		return -ESTALE;
	r = jvmfile_piece(file, code, record, id, ret);
	file->given += r == 0;
	return r;
}

static int read_code(struct jvmfile *file, uint64_t word, uint64_t detail,
		     const struct jvmfile_memory *memory, struct jvmcode **ret)
{
	struct jvmfile_code *code;
	bool unsure;

	code = find_code(file, word & FRAME_ADDRESS, (uint32_t)detail, memory, &unsure);
	if (!code)
		return -ENOENT;
	if (unsure)
		return -ESTALE;
	/* Only methods have ids, stubs have none. */
	if (code->kind != ((uint32_t)detail ? JAVA_CODE : JAVA_STUB))
		return -ENOENT;
	int r = jvmfile_make(file, code, (uint32_t)detail, ret);
	if (r == 0)
		code->id = (uint32_t)detail;
	return r;
}

int jvmfile_read(struct jvmfile *file, uint64_t word, uint64_t detail,
		 const struct jvmfile_memory *memory, struct jvmcode **ret)
{
	if (word >> FRAME_KIND_SHIFT == FRAME_JAVA_METHOD)
		return -ENOENT; /* the file has no interpreted methods */
	if (jvmfile_take(file) < 0)
		return -EBUSY;
	int r = file->fd < 0 ? -ENOENT : read_code(file, word, detail, memory, ret);
	jvmfile_give(file);
	return r;
}

void jvmfile_stats(struct jvmfile *file, struct jvmfile_stats *stats)
{
	*stats = (struct jvmfile_stats){0};
	if (pthread_mutex_trylock(&file->reads))
		return;
	*stats = file->stats;
	stats->codes = file->codes_count;
	stats->given = file->given;
	stats->bytes = file->at;
	pthread_mutex_unlock(&file->reads);
}
