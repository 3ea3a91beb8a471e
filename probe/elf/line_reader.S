/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The line reader (line_reader/) as bytes; READER is its path, relative to the repository's root. */
#ifdef __CET__
#include <cet.h> /* the note that nothing here hinders CET: without it the linker drops everybody's */
#endif

	.section .rodata

	.global line_reader_image, line_reader_image_end
line_reader_image:
	.incbin READER
line_reader_image_end:
	.byte 0

	.section .note.GNU-stack, "", %progbits
