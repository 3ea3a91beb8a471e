/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An agent's file in a folder of its own, and who reads it. */
#pragma once

#include "unit/java/files/java_file_maker.h"

#include "loop/worker.h"
#include "java/files/jvmfile.h"

struct scene {
	struct folder folder;
	struct buf out; /* what the file will have */
	struct jvmfile *file;
	bool short_now; /* test_jvmfile's: what is there with the id 6 has 32 bytes */
};

static inline void scene_begin(struct scene *scene, size_t bytes_max)
{
	*scene = (struct scene){.out = BUF_INIT(bytes_max)};
	folder_make(&scene->folder);
	assert_int_equal(jvmfile_new(&scene->file, dup(scene->folder.fd), geteuid(), bytes_max,
				     NULL, JOB_OWN),
			 0);
	maker_begin(&scene->out, 0);
}

static inline void scene_done(struct scene *scene)
{
	jvmfile_unref(scene->file);
	folder_done(&scene->folder);
	buf_done(&scene->out);
}
