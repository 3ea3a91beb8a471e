// SPDX-License-Identifier: GPL-2.0-or-later
#include "file/hung_fs.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "loop/loop.h"

#define HUNG_NS	   (600 * NS_PER_S)
#define FILES_MIN  3 /* with so many hanging files … */
#define OWNERS_MIN 2 /* … of so many owners a file system hangs */

struct hung_run {
	atomic_uint refs; /* the job's, and the list's */
	atomic_bool over;
};

struct hung_run *hung_run_new(void)
{
	struct hung_run *run = calloc(1, sizeof(*run));

	if (run)
		run->refs = 1;
	return run;
}

static void hung_run_unref(struct hung_run *run)
{
	if (run && atomic_fetch_sub(&run->refs, 1) == 1)
		free(run);
}

void hung_run_end(struct hung_run *run)
{
	if (run)
		atomic_store(&run->over, true);
	hung_run_unref(run);
}

static bool is_same(const struct hung_file *a, const struct hung_file *b)
{
	return a->device == b->device && a->inode == b->inode;
}

/* Returns whether the entry of `known` applies to `wanted`. */
static bool counts_for(const struct hung_file *known, const struct hung_file *wanted)
{
	return is_same(known, wanted) && (!known->where || known->where == wanted->where);
}

void hung_fs_add(struct hung_fs *hung, const struct hung_file *file, enum job_end end,
		 struct hung_run *run, bool alone)
{
	bool slow = end == JOB_SLOW;

	if (end != JOB_HANGS && !slow)
		return;
	unsigned at = hung->next++ % HUNG_FILES_MAX;
	hung_run_unref(TAKE_PTR(hung->each[at].run));
	hung->each[at].file = *file;
	hung->each[at].until_ns = loop_now_ns() + HUNG_NS;
	hung->each[at].is_slow = slow;
	hung->each[at].is_alone = alone || slow;
	if (!run || slow)
		return;
	atomic_fetch_add(&run->refs, 1);
	hung->each[at].run = run;
}

static void forgive_files(struct hung_fs *hung)
{
	uint64_t now = loop_now_ns();

	for (int i = 0; i < HUNG_FILES_MAX; i++) {
		struct hung_run *run = hung->each[i].run;

		if (now < hung->each[i].until_ns && !(run && atomic_load(&run->over)))
			continue;
		hung->each[i].until_ns = 0;
		hung_run_unref(TAKE_PTR(hung->each[i].run));
	}
}

/* Returns whether entry `i` speaks for that device, and no earlier entry is of the same file. */
static bool entry_counts(const struct hung_fs *hung, int i, uint64_t device)
{
	const struct hung_file *file = &hung->each[i].file;

	if (!hung->each[i].until_ns || hung->each[i].is_alone || file->device != device)
		return false;
	for (int k = 0; k < i; k++) {
		if (hung->each[k].until_ns && !hung->each[k].is_alone &&
		    is_same(&hung->each[k].file, file))
			return false;
	}
	return true;
}

static bool device_hangs(const struct hung_fs *hung, const struct hung_file *wanted)
{
	unsigned files = 0, owners = 0, of_owner = 0;
	uint64_t owner = 0;

	for (int i = 0; i < HUNG_FILES_MAX; i++) {
		const struct hung_file *file = &hung->each[i].file;

		if (!entry_counts(hung, i, wanted->device))
			continue;
		if (!owners || (owners == 1 && file->whose != owner))
			owners++;
		if (!files++)
			owner = file->whose;
		of_owner += file->whose == wanted->whose;
	}
	return of_owner >= FILES_MIN || (files >= FILES_MIN && owners >= OWNERS_MIN);
}

enum hung_verdict hung_fs_has(struct hung_fs *hung, const struct hung_file *file)
{
	forgive_files(hung);
	for (int i = 0; i < HUNG_FILES_MAX; i++) {
		if (hung->each[i].until_ns && counts_for(&hung->each[i].file, file))
			return hung->each[i].is_slow ? HUNG_SLOW : HUNG_HANGS;
	}
	return device_hangs(hung, file) ? HUNG_HANGS : HUNG_NOT;
}

void hung_fs_done(struct hung_fs *hung)
{
	for (int i = 0; i < HUNG_FILES_MAX; i++)
		hung_run_unref(TAKE_PTR(hung->each[i].run));
}
