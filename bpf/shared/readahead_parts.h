/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of a stack that the probe readahead counts apart (bpf/readahead.bpf.c,
 * probe/probes/readahead.c), and what it needs to know of the kernel's code. */
#pragma once

#ifndef __bpf__
#include <stdint.h>
#endif

enum readahead_part {
	READAHEAD_ASKED = 1, /* pages that the read or the fault under way needs */
	READAHEAD_AHEAD,     /* pages beyond these */
	READAHEAD_ANY,	     /* the kernel doesn't tell which */
};

/* Range of a function's code in the kernel. */
struct code_range {
	uint64_t from, bytes; /* bytes 0: none */
	uint64_t reads_ahead; /* 0: it adds a page for somebody who looks for one */
};

#define READAHEAD_FUNCTIONS 12

/* Limits of what is followed until it is used or goes. */
#define FOLLOWED_BLOCKS 65536 /* runs of FOLLOWED_PAGES pages that were read ahead by one stack */
#define FOLLOWED_STACKS 1024
