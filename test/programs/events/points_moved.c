/* SPDX-License-Identifier: GPL-2.0-or-later */
/* points_moved: `points`, of which each function and static probe lies elsewhere in the file. */
__asm__(".pushsection .text\n.skip 4096, 0x90\n.popsection");

#include "points.c"
