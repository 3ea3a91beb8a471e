/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to alloc/allocators.c (targets), allocators_choice.c (which files a target allocates by),
 * allocators_file.c (files and their points) and allocators_work.c (the jobs).
 */
#pragma once

#include "base/map.h"
#include "loop/rate.h"
#include "alloc/allocator.h"
#include "alloc/allocators.h"
#include "alloc/uprobes.h"
#include "file/symbol_file.h"

#define CHOSEN_MAX 8

/* The kernel keeps one set of probe points for each inode. */
struct file_key {
	uint64_t device, inode;
};

enum file_state { FILE_NEW, FILE_READ, FILE_UNREADABLE };

/*
 * The heap's points and the mappings' are attached separately: a target that allocates by another
 * file still needs the C library's mmap.
 */
enum allocator_part { PART_HEAP, PART_MAPPINGS, PARTS };

struct file_part {
	size_t users;	  /* targets that want it */
	uint64_t last_ns; /* when the last user left, loop_now_ns() */
	struct uprobes *uprobes;
	uint64_t epoch; /* of the BPF programs that `uprobes` call */
	bool session;
	/* of attaching; final, except that another process may retry after -ESRCH */
	int error;
	char why[160];
};

/* What was read of a file that has an allocator. */
struct file_facts {
	struct allocator allocator;
	struct uprobe_point points[ALLOCATOR_FUNCTIONS_MAX]; /* of each function */
	bool stepped[ALLOCATOR_FUNCTIONS_MAX];
};

struct probed_file {
	struct allocators *allocators;
	struct file_key key;
	struct open_request_id content;
	struct symbol_file *file; /* owns a reference */
	struct symbol_place place;
	char *path; /* as the process sees it */
	enum file_state state;
	/* why FILE_UNREADABLE; -ESRCH: another process that maps it is tried */
	int error;
	bool outdated;		  /* it was written to after it was read */
	bool is_go, is_static;	  /* is_static: it has no dynamic symbols */
	bool has_symbols;	  /* it has .symtab */
	bool is_foreign;	  /* for another processor, or 32-bit */
	bool is_overlay;	  /* on overlayfs: its inode stands for another one */
	struct file_facts *facts; /* NULL: no allocator */
	/* the file with the same inode below overlayfs; this one is a user of it */
	struct probed_file *same;
	struct file_part parts[PARTS];
	/* references: of targets that map or chose it, of files whose `same` it is */
	size_t users;
	uint64_t last_ns; /* when the last user left, loop_now_ns() */
	bool busy;	  /* a job works on it */
	struct probed_file *next;
};

struct choice {
	struct probed_file *file;
	bool parts[PARTS];
};

struct watched_key {
	uint64_t pid, id;
};

/* A target that wants its allocations probed. */
struct watched {
	struct watched_key key;
	struct watched *next_gone;
	uint64_t generation; /* number of the sweep that saw it last */
	uint64_t read_ns;    /* when the maps were read that `files` is from; 0: none yet */
	/* mapped ones, each used; files[0] is the program if has_program */
	struct probed_file **files;
	size_t count;
	bool has_program;
	bool settled; /* `chosen` is the choice from these files */
	bool armed;   /* was settled, with all its choices attached or impossible then */
	struct choice chosen[CHOSEN_MAX];
	size_t chosen_count;
	const char *why; /* "": nothing to add */
	bool unsupported, failed;
	uint64_t since_ns; /* when it was met, loop_now_ns() */
	bool is_young;	   /* its mappings hadn't been read when it was met */
	unsigned looks;	   /* how often its mappings were looked at */
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
	/* of the BPF programs: points of earlier epochs are to be detached */
	uint64_t epoch;
	bool dirty;	  /* some targets changed since the last sweep */
	bool chosen_anew; /* the choice of targets changed since the last sweep */
	bool rechoosing;  /* facts of files changed: all targets choose again */
	bool working;	  /* a job is under way */
	uint64_t generation;
	struct loop_timer timer;
	uint64_t sweep_ns;	 /* length of the last sweep, ns, bounded */
	uint64_t rests_until_ns; /* no sweep begins before */
	struct rate looks;
	void (*stopped)(void *arg);
	void *stopped_arg;
};

/* ---- allocators_file.c ---- */

/* Returns the file, with one more user; NULL if it can't be opened or there is no memory. */
struct probed_file *probed_file_get(struct allocators *allocators, struct symbol_file *file,
				    const struct symbol_place *place);
void probed_file_put(struct probed_file *file);

/* Returns the file that stands for this one: `same` if there is one, else itself. */
struct probed_file *probed_file_real(struct probed_file *file);

void probed_file_use(struct probed_file *file, enum allocator_part part);
void probed_file_leave(struct probed_file *file, enum allocator_part part);

/* Returns how many points the part has; adds to *stepped how many of them are single-stepped. */
unsigned probed_file_points(const struct probed_file *file, enum allocator_part part,
			    unsigned *stepped);

/*
 * Begins the next job if none is under way. If there is nothing to do, calls allocators->stopped().
 */
void files_step(struct allocators *allocators);

/* Frees files that have neither users nor points. */
void files_sweep(struct allocators *allocators);
void files_free(struct allocators *allocators);

/* ---- allocators_work.c: submit a job; return 0 or a negative errno, such as -ENOMEM ---- */

int work_read(struct probed_file *file);
int work_attach(struct probed_file *file, enum allocator_part part);
int work_detach(struct probed_file *file, enum allocator_part part);

/* Results of the jobs, taken by allocators_file.c. */
struct read_facts {
	int error;
	bool is_go, is_static, has_symbols, is_foreign, is_overlay;
	struct file_facts *facts; /* taken over */
};
void probed_file_was_read(struct probed_file *file, struct read_facts *read);
void probed_file_was_attached(struct probed_file *file, enum allocator_part part,
			      struct uprobes *uprobes, bool session, int error, const char *why);
void probed_file_was_detached(struct probed_file *file, enum allocator_part part);

/* ---- allocators_choice.c ---- */

/* Chooses again which files the target allocates by, once all its files were read. */
void watched_choose(struct watched *watched);
void watched_leave(struct watched *watched);

/* Returns whether all chosen parts are attached, or can't be. */
bool watched_is_attached(const struct watched *watched);

/* ---- allocators.c ---- */

/* Sets the timer: sweeps at that time, or earlier if one is due. */
void allocators_wake(struct allocators *allocators, uint64_t at_ns);

static inline bool is_mapping(enum call call)
{
	return 1u << call & CALLS_MAPPING;
}
