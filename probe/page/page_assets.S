/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page's files as bytes; the assembler finds them in the folder of packed ones (Makefile). */
#ifdef __CET__
#include <cet.h> /* marks this object as CET-compatible; else the linker drops CET for all */
#endif
#include "page/page_files.h"

	.macro asset symbol, file
	.global \symbol, \symbol\()_end
\symbol:
	.incbin "\file"
\symbol\()_end:
	.endm

	.section .rodata
#define ASSET(symbol, file, type) asset symbol, file.gz;
PAGE_FILES(ASSET)

	.section .note.GNU-stack, "", %progbits
