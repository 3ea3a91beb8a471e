/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The agents for Java VMs as bytes; AGENT and JAR are their paths, relative to the repository's root. */
#ifdef __CET__
#include <cet.h> /* the note that nothing here hinders CET: without it the linker drops everybody's */
#endif

	.section .rodata

	.global jvm_agent_image, jvm_agent_image_end
jvm_agent_image:
	.incbin AGENT
jvm_agent_image_end:
	.byte 0

	.global jfr_agent_image, jfr_agent_image_end
jfr_agent_image:
	.incbin JAR
jfr_agent_image_end:
	.byte 0

	.section .note.GNU-stack, "", %progbits
