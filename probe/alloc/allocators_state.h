/* SPDX-License-Identifier: GPL-2.0-only */
/* What alloc/allocators.c (targets), allocators_choice.c (which files a target allocates by),
 * allocators_file.c (files and their points) and allocators_work.c (the jobs) share. Nobody else
 * includes it. */
#pragma once

#include "base/map.h"
#include "base/rate.h"
#include "alloc/allocator.h"
#include "alloc/allocators.h"
#include "alloc/uprobes.h"
#include "file/symbol_file.h"

#define CHOSEN_MAX 8

/* The kernel has one set of probe points for each inode. */
struct file_key {
	uint64_t device, inode;
};

enum file_state { FILE_NEW, FILE_READ, FILE_UNREADABLE };

/* Points are attached apart: mappings of the C library's file are wanted also of those that
 * allocate by another one. */
enum part { PART_HEAP, PART_MAPPINGS, PARTS };

struct file_part {
	size_t users;	  /* targets that want it */
	uint64_t last_ns; /* when the last one went */
	struct uprobes *uprobes;
	uint64_t epoch; /* of the programs that these call */
	bool session;
	int error; /* of attaching; it isn't tried again, but -ESRCH by another process */
	char why[160];
};

/* What is read of a file that has an allocator. */
struct file_facts {
	struct allocator allocator;
	struct uprobe_point points[ALLOCATOR_FUNCTIONS_MAX]; /* of each function */
	bool stepped[ALLOCATOR_FUNCTIONS_MAX];
};

struct probed_file {
	struct allocators *allocators;
	struct file_key key;
	struct open_request_id content;
	struct symbol_file *file; /* with a reference */
	struct symbol_place place;
	char *path; /* as the process sees it */
	enum file_state state;
	int error;	       /* FILE_UNREADABLE: why; -ESRCH: whoever else has it may be asked */
	bool outdated;	       /* it was written to since it was read */
	bool is_go, is_static; /* no dynamic symbols */
	bool has_symbols;      /* .symtab */
	bool is_foreign;       /* for another processor, or 32-bit */
	bool is_overlay;       /* its inode stands for another one */
	struct file_facts *facts; /* NULL: no allocator */
	struct probed_file *same; /* has the same inode below overlays; a user of it */
	struct file_part parts[PARTS];
	size_t users; /* targets that have it mapped */
	uint64_t last_ns;
	bool busy; /* a job has it */
	struct probed_file *next;
};

struct choice {
	struct probed_file *file;
	bool parts[PARTS];
};

struct watched_key {
	uint64_t pid, id;
};

/* A target that wants it. */
struct watched {
	struct watched_key key;
	struct watched *next_gone;
	uint64_t generation;	    /* of the sweep that saw it last */
	uint64_t read_ns;	    /* the maps that `files` are of; 0: none yet */
	struct probed_file **files; /* mapped, each a user; the program first, if it is known */
	size_t count;
	bool has_program;
	bool settled; /* chosen from these files */
	bool armed;   /* it was settled, and what it had chosen then was attached or can't be */
	struct choice chosen[CHOSEN_MAX];
	size_t chosen_count;
	const char *why; /* "": there's no more to say */
	bool unsupported, failed;
	uint64_t since_ns; /* when it was met */
	bool is_young;	   /* its mappings weren't read then */
	unsigned looks;	   /* that were taken */
};

struct allocators {
	struct loop *loop;
	struct worker *urgent;
	struct tracer *tracer;
	struct targets *targets;
	struct map *watched; /* watched_key -> struct watched * */
	struct map *by_key;  /* file_key -> struct probed_file * */
	struct probed_file *files;
	bool running;
	uint64_t epoch;	  /* of the programs: those before are detached */
	bool dirty;	  /* targets aren't all as they were looked at */
	bool chosen_anew; /* nor those that were chosen */
	bool rechoosing;  /* what is known of files has changed */
	bool working;	  /* a job is under way */
	uint64_t generation;
	struct loop_timer timer;
	uint64_t sweep_ns;	 /* the last one's length */
	uint64_t rests_until_ns; /* no sweep before */
	struct rate looks;
	void (*stopped)(void *arg);
	void *stopped_arg;
};

/* ---- allocators_file.c ---- */

/* The file, with one more user; NULL: it has none that can be read, or no memory. */
struct probed_file *probed_file_get(struct allocators *allocators, struct symbol_file *file,
				    const struct symbol_place *place);
void probed_file_put(struct probed_file *file);

/* The one that stands for it. */
struct probed_file *probed_file_real(struct probed_file *file);

void probed_file_use(struct probed_file *file, enum part part);
void probed_file_leave(struct probed_file *file, enum part part);

/* What the part has, of which so many are single-stepped. */
unsigned probed_file_points(const struct probed_file *file, enum part part, unsigned *stepped);

/* Begins what is to be done next, if nothing is under way; when all is detached that was to be,
 * tells who waits for it. */
void files_step(struct allocators *allocators);

/* Forgets those that nobody has. */
void files_sweep(struct allocators *allocators);
void files_free(struct allocators *allocators);

/* ---- allocators_work.c: -ENOMEM and such, or done later ---- */

int work_read(struct probed_file *file);
int work_attach(struct probed_file *file, enum part part);
int work_detach(struct probed_file *file, enum part part);

/* What comes of them (allocators_file.c). */
struct read_facts {
	int error;
	bool is_go, is_static, has_symbols, is_foreign, is_overlay;
	struct file_facts *facts; /* taken over */
};
void probed_file_was_read(struct probed_file *file, struct read_facts *read);
void probed_file_was_attached(struct probed_file *file, enum part part, struct uprobes *uprobes,
			      bool session, int error, const char *why);
void probed_file_was_detached(struct probed_file *file, enum part part);

/* ---- allocators_choice.c ---- */

/* Chooses anew where all its files are read. */
void watched_choose(struct watched *watched);
void watched_leave(struct watched *watched);

/* Whether all that it has chosen is attached, or can't be. */
bool watched_is_attached(const struct watched *watched);

/* ---- allocators.c ---- */

/* Has targets looked at, and files forgotten, at that time. */
void allocators_wake(struct allocators *allocators, uint64_t at_ns);

static inline bool is_mapping(enum call call)
{
	return 1u << call & CALLS_MAPPING;
}
