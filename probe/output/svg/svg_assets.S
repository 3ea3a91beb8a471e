/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The script and the style of the SVG as bytes; paths are relative to the repository's root. */
#ifdef __CET__
#include <cet.h> /* marks this object as CET-compatible; else the linker drops CET for all */
#endif

	.section .rodata

	.global svg_script, svg_script_end
svg_script:
	.ascii "(() => {\n'use strict';\n"
	.incbin "probe/output/svg/flamegraph.js"
	.incbin "probe/output/svg/flamegraph_search.js"
	.incbin "probe/output/svg/flamegraph_views.js"
	.incbin "probe/output/svg/flamegraph_page.js"
	.ascii "if (root)\n\tstart();\n})();\n"
svg_script_end:

	.global svg_style, svg_style_end
svg_style:
	.incbin "probe/output/svg/flamegraph.css"
	.incbin "probe/output/svg/palette.css"
svg_style_end:
	.byte 0

	.section .note.GNU-stack, "", %progbits
