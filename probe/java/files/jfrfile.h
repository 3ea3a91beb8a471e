/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A window's stacks as the Java agent of JFR mode wrote them (jvm_agent/jfr; doc/formats.md has the
 * format). The file is the target's, hostile: bounded, each line checked, opened without following
 * a link; one line that is wrong, and all of it is. Immutable once read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "elf/frame.h"

#define JFRFILE_BYTES_MAX  (16U << 20)
#define JFRFILE_FRAMES_MAX 2048 /* of a stack; the VM has no more */

/* The agent's 12 MiB don't hold so many: short lines that it doesn't write take more memory than
 * their text. */
#define JFRFILE_METHODS_MAX    (1U << 19)
#define JFRFILE_STACKS_MAX     (1U << 19)
#define JFRFILE_ALL_FRAMES_MAX (1U << 21)

/* `class.method`, then its parameters `(int, java.lang.String)`: valid UTF-8, at `name` in the
 * file's text. Class names without what is another one in each run. */
struct jfr_method {
	size_t name;
	uint32_t name_len; /* of both */
	uint32_t signature_len;
};

struct jfr_frame {
	uint32_t method; /* its number */
	uint32_t line;	 /* 0: not known. JFR doesn't tell files. */
	enum frame_type type;
};

struct jfr_stack {
	uint64_t weight; /* ns, or bytes */
	uint64_t events;
	bool cut;      /* it doesn't reach its root */
	size_t thread; /* its name, in the text: valid UTF-8 */
	uint32_t thread_len;
	uint32_t frames_count; /* 0: the VM could not tell */
	size_t frames;	       /* the first, the root's, in the file's */
};

struct jfr_head {
	uint64_t sequence;		  /* of the command that asked */
	uint64_t from_us, to_us;	  /* since 1970 */
	uint64_t lost_samples;		  /* that the VM could not take */
	uint64_t lost_bytes;		  /* of events for which the VM had no room */
	uint64_t refused, refused_weight; /* events for which the file had none */
	bool cut;			  /* a part of the recording could not be read */
};

struct jfrfile {
	struct jfr_head head;
	char *text;
	struct jfr_method *methods;
	size_t methods_count;
	struct jfr_stack *stacks;
	size_t stacks_count;
	struct jfr_frame *frames;
	size_t frames_count;
	uint64_t weight; /* of all stacks */
	size_t bytes;	 /* of memory that it takes */
};

/* `stacks-PROBE.txt` in the data folder, which has to be `owner`'s. May hang: in a job. -ENOENT;
 * -EACCES: it isn't a plain file of its owner's; -EFBIG: that, or more in it than is taken;
 * -EBADMSG: what is there makes no sense; -ENOMEM; or the errno of reading. */
int jfrfile_read(struct jfrfile **ret, int folder_fd, uid_t owner, const char *probe);

/* The same from its text. -EBADMSG, -EFBIG, -ENOMEM */
int jfrfile_parse(struct jfrfile **ret, const char *text, size_t len, const char *probe);

/* Of all stacks. */
uint64_t jfrfile_events(const struct jfrfile *file);

void jfrfile_free(struct jfrfile *file);
