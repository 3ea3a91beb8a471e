/* SPDX-License-Identifier: GPL-2.0-only */
/* What file/symbol_file.c (one file), file/file_registry.c (the registry) and file/file_round.c
 * (rounds of reading) share. Nobody else includes it. */
#pragma once

#include <stdatomic.h>

#include "base/map.h"
#include "loop/shares.h"
#include "file/symbol_file.h"
#include "file/hung.h"
#include "elf/lines.h"
#include "file/ranges.h"
#include "file/reader.h"

/* What makes a file the same; all bytes count. */
struct file_id {
	struct opening_id content;
	uint64_t root, debugging_dir, folder; /* hashes of where debug files are looked for */
	uint64_t whose;			      /* struct symbol_search */
};

/* Where its code is. */
struct file_code {
	uint8_t build_id[BUILD_ID_MAX];
	size_t build_id_bytes;
	size_t segments_count;
	struct elf_segment segments[];
};

struct symbol_file {
	atomic_uint refs;
	struct held *held; /* open, or NULL */
	char *path, *debugging_dir;
	struct symbol_root *root; /* NULL: ours */
	uint64_t whose, payer;	  /* struct symbol_search */
	struct stat stat;
	struct debug_found debug;
	struct ranges ranges;
	struct file_code *code; /* NULL: it hasn't been read */
	int error;		/* of what is in it: it won't become better */
	uint64_t last_used;
	struct worker *worker; /* that closes it */
	struct lines *lines;   /* that were read (file/file_lines.c); NULL: none yet */
	bool lacks_lines;      /* it has no debug information */
	struct demangling demangling;
	bool is_read; /* a job is under way */

	/* of a round */
	struct native_function *wanted; /* only their offsets count */
	size_t wanted_count, wanted_capacity;
	struct symbol_place place;
	struct symbol_file *next_wanted; /* with a reference */
};

struct symbol_files {
	struct worker *worker;
	struct map *by_id; /* file_id -> struct symbol_file *, each with a reference */
	struct symbol_file *vdso, *left_out;
	uint64_t uses;
	struct symbol_files_stats stats;
	struct hung hung;
	struct perfmap_budget *budgets; /* of the users that have maps in this round */
	struct map *perfmaps;		/* perfmap_key -> struct perfmap *, each with a reference */
	uint64_t rounds;
	size_t lines_bytes;	      /* of all files' */
	uint64_t lines_rest_until_ns; /* who spares doesn't read before */

	/* of a round */
	struct symbol_file *wanted;
	size_t readings; /* that go on */
	bool reads;	 /* a round waits for them */
	unsigned fences; /* whose time hasn't passed; the last one is of that round */
	uint64_t fenced_round;
	struct file_reading *under_way; /* of this round and of those before */
	struct late_reading *late;	/* what came when its round was over */
	size_t late_bytes;
	struct shares *room, *late_room; /* bytes of functions of a round; of `late` */
	bool (*enough)(void *arg);	 /* NULL: never */
	void (*passed)(void *arg);
	void *arg;
};

/* NULL: no memory. */
struct symbol_file *file_new(const char *path, const char *debugging_dir);
void file_unref(struct symbol_file **file);

/* Opened anew if need be. */
void file_let_go(struct symbol_file *file);

struct by_use {
	uint64_t last_used;
	struct file_id id;
	struct symbol_file *file; /* borrowed */
};

/* All files, those last used first. NULL: no memory. */
struct by_use *files_list(const struct symbol_files *files, size_t *count);

void files_forget_lines(struct symbol_files *files, struct symbol_file *file);

/* Of rounds. -ENOMEM */
int files_new_rooms(struct symbol_files *files);
void files_forget_functions(struct symbol_files *files, struct symbol_file *file);
void files_forget_wanted(struct symbol_files *files);
void files_one_less(struct symbol_files *files); /* reading goes on */
void files_forget_late(struct symbol_files *files);

/* perfmap.c, in rounds. */
#define FILES_PERFMAPS_MAX 4096
#define FILES_PERFMAP_KEY  (2 * sizeof(uint64_t))
void files_begin_perfmaps(struct symbol_files *files);
void files_forget_answers(struct symbol_files *files); /* all is named */
void files_read_perfmaps(struct symbol_files *files);
void files_leave_perfmaps(struct symbol_files *files); /* those that aren't read yet are late */
void files_free_perfmaps(struct symbol_files *files);
