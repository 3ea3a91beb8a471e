/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by file/symbol_file*.c and symbol/perfmap*.c: the registry's state. Only these include it.
 */
#pragma once

#include <stdatomic.h>

#include "base/map.h"
#include "loop/shares.h"
#include "file/symbol_file.h"
#include "file/hung_fs.h"
#include "elf/lines.h"
#include "file/function_cache.h"
#include "file/symbol_job.h"

/* The key of a file, without padding. */
struct file_id {
	struct open_request_id content;
	uint64_t root, debugging_dir, folder; /* hashes of where debug files are searched */
	uint64_t whose;			      /* struct symbol_search */
};

/* A file's build id and executable segments. */
struct file_code {
	uint8_t build_id[BUILD_ID_MAX];
	size_t build_id_bytes;
	size_t segments_count;
	struct elf_segment segments[];
};

struct symbol_file {
	atomic_uint refs;
	struct held_fd *held; /* the open file; NULL: not open */
	char *path, *debugging_dir;
	struct symbol_root *root; /* NULL: ours */
	uint64_t whose, payer;	  /* struct symbol_search */
	struct stat stat;
	struct debug_found debug;
	struct function_cache ranges;
	struct file_code *code; /* NULL: the file hasn't been read */
	int error;		/* lasting error of the content: the file isn't read again */
	uint64_t last_used;	/* of symbol_files.uses */
	struct worker *worker;	/* closes the file */
	struct lines *lines;	/* the cached lines (file/file_lines.c); NULL: none yet */
	bool lacks_lines;	/* the file has no debug information */
	struct demangling demangling;
	bool is_read; /* a job is reading the file */
	bool is_narrow_vdso;

	/* of a round */
	struct native_function *wanted; /* only the offsets are set */
	size_t wanted_count, wanted_capacity;
	struct symbol_place place;
	struct symbol_file *next_wanted; /* list symbol_files.wanted; with a reference */
};

struct symbol_files {
	struct worker *worker;
	struct map *by_id; /* file_id -> struct symbol_file *, each with a reference */
	struct symbol_file *vdso, *vdso_narrow, *left_out;
	uint64_t uses; /* counts uses of files, as a clock */
	struct symbol_files_stats stats;
	struct hung_fs hung;
	struct perfmap_budget *budgets; /* of the users that have maps in this round */
	struct map *perfmaps;		/* perfmap_key -> struct perfmap *, each with a reference */
	uint64_t rounds;
	size_t lines_bytes;	      /* of all files' cached lines */
	uint64_t lines_rest_until_ns; /* sparing callers read no lines before; CLOCK_MONOTONIC */

	/* of a round */
	struct symbol_file *wanted;
	size_t readings; /* of this round, not done yet */
	bool reads;	 /* a round waits for readings */
	unsigned fences; /* fences that haven't passed; the last one is of fenced_round */
	uint64_t fenced_round;
	struct file_reading *under_way; /* readings of this round and of earlier rounds */
	struct late_reading *late;	/* results that came when their round was over */
	size_t late_bytes;
	struct shares *room, *late_room; /* users' shares of a round's bytes; of late_bytes */
	bool (*enough)(void *arg);	 /* NULL: never */
	void (*passed)(void *arg);
	void *arg;
};

/* Returns a file with one reference, in no registry; NULL without memory. */
struct symbol_file *file_new(const char *path, const char *debugging_dir);
void file_unref(struct symbol_file **file);

/* Closes the file; it is opened again if need be. */
void file_let_go(struct symbol_file *file);

struct by_use {
	uint64_t last_used;
	struct file_id id;
	struct symbol_file *file; /* borrowed */
};

/* Lists all files, those used last first; the caller frees the list. NULL: no memory. */
struct by_use *files_list(const struct symbol_files *files, size_t *count);

void files_forget_lines(struct symbol_files *files, struct symbol_file *file);

/* file_round.c. Makes `room` and `late_room`; returns 0 or -ENOMEM. */
int files_new_rooms(struct symbol_files *files);
void files_forget_functions(struct symbol_files *files, struct symbol_file *file);
void files_forget_wanted(struct symbol_files *files);
/* Counts that one of `readings` is done; the last one ends the round. */
void files_one_less(struct symbol_files *files);
void files_forget_late(struct symbol_files *files);

/* symbol/perfmap*.c, in rounds. */
#define FILES_PERFMAPS_MAX 4096
#define FILES_PERFMAP_KEY  (2 * sizeof(uint64_t))
void files_begin_perfmaps(struct symbol_files *files);
void files_forget_answers(struct symbol_files *files); /* once all is named */
void files_read_perfmaps(struct symbol_files *files);
void files_leave_perfmaps(struct symbol_files *files); /* counts unfinished readings as late */
void files_free_perfmaps(struct symbol_files *files);
