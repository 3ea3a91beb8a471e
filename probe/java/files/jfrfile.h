/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parser for a window's stacks, which the Java agent of JFR mode writes (jvm_agent/jfr; the format
 * is in doc/formats.md). The file belongs to the target and is hostile: it is bounded, each line is
 * checked, and no link is followed. One wrong line makes the whole file wrong. The result is
 * immutable.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "elf/frame.h"

#define JFRFILE_BYTES_MAX  (16U << 20)
#define JFRFILE_FRAMES_MAX 2048 /* of a stack; the VM has no more */

/* More than fit into the agent's 12 MiB. The bounds are against crafted files, whose short lines
 * take more memory than their text. */
#define JFRFILE_METHODS_MAX    (1U << 19)
#define JFRFILE_STACKS_MAX     (1U << 19)
#define JFRFILE_ALL_FRAMES_MAX (1U << 21)

/* A method's name, `class.method` and the parameters `(int, java.lang.String)`: valid UTF-8. Class
 * names are the same in each run (java/code/jvmnames.h). */
struct jfr_method {
	size_t name;		/* offset in jfrfile.text */
	uint32_t name_len;	/* with the parameters */
	uint32_t signature_len; /* of the parameters */
};

struct jfr_frame {
	uint32_t method; /* number of the method */
	uint32_t line;	 /* 0: not known. JFR doesn't tell source files. */
	enum frame_type type;
};

struct jfr_stack {
	uint64_t weight; /* ns, or bytes */
	uint64_t events;
	bool cut;      /* the stack doesn't reach its root */
	size_t thread; /* offset of the thread's name in jfrfile.text; valid UTF-8 */
	uint32_t thread_len;
	uint32_t frames_count; /* 0: the VM couldn't tell */
	size_t frames;	       /* number of the root's frame in jfrfile.frames */
};

struct jfr_head {
	uint64_t sequence;		  /* number of the command */
	uint64_t from_us, to_us;	  /* the window; microseconds since 1970 */
	uint64_t lost_samples;		  /* samples that the VM couldn't take */
	uint64_t lost_bytes;		  /* bytes of events for which the VM had no room */
	uint64_t refused, refused_weight; /* events for which the file had no room */
	bool cut;			  /* a part of the recording couldn't be read */
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
	size_t bytes;	 /* bytes of memory that the file's content takes */
};

/* Reads `stacks-PROBE.txt` in the data folder; the file has to belong to `owner`. It may hang: in a
 * job. The caller owns *ret. Returns 0, or a negative errno: -ENOENT; -EACCES if it is no plain
 * file of `owner`; -EFBIG if it is too large, or has too many lines; -EBADMSG if it makes no sense;
 * -ENOMEM; an errno of reading. */
int jfrfile_read(struct jfrfile **ret, int folder_fd, uid_t owner, const char *probe);

/* Parses the text of such a file. Returns 0, -EBADMSG, -EFBIG, or -ENOMEM. */
int jfrfile_parse(struct jfrfile **ret, const char *text, size_t len, const char *probe);

/* Returns the number of events of all stacks. */
uint64_t jfrfile_events(const struct jfrfile *file);

void jfrfile_free(struct jfrfile *file);
