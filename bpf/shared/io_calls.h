/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The system calls that move bytes (bpf/io.bpf.c, probe/probes/io.c): how each is measured, and the
 * parts of a stack that its bytes are counted under. The daemon fills in which number is which
 * call.
 */
#pragma once

#ifndef __bpf__
#include <stdint.h>
#endif

/* Where the descriptors are, and what the result counts. */
enum io_call {
	IO_NONE,	/* the call moves no bytes */
	IO_IN,		/* read: the first argument is the descriptor, the result its bytes */
	IO_OUT,		/* write, send */
	IO_RECEIVE,	/* recvfrom: as IO_IN, with flags in the fourth argument */
	IO_RECEIVE3,	/* recvmsg: with flags in the third one */
	IO_MESSAGES_IN, /* recvmmsg: the result counts messages; flags in the fourth argument */
	IO_MESSAGES_OUT,
	IO_COPY_10,    /* sendfile: from the second argument's descriptor to the first one's */
	IO_COPY_02,    /* splice, copy_file_range: from the first one's to the third one's */
	IO_SOCKETCALL, /* i386: the first argument says which call, its arguments are in memory */
};

#define IO_CALLS_MAX 512 /* numbers of system calls */

enum io_direction {
	IO_READ,
	IO_WRITE,
	IO_PEEKED,    /* MSG_PEEK: the bytes come again */
	IO_TRUNCATED, /* MSG_TRUNC: the result counts bytes that were dropped as well */
	IO_DIRECTIONS
};

enum io_kind { IO_FILE, IO_SOCKET, IO_PIPE, IO_TTY, IO_OTHER, IO_KINDS };

/* The part of bytes that went that way, of such a file. */
#define IO_PART(direction, kind) (1 + (direction)*IO_KINDS + (kind))

#define IO_CALLS_WAITING	 65536 /* threads that are in such a call; their times */
