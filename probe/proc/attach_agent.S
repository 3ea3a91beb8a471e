/* SPDX-License-Identifier: GPL-2.0-only */
/* The agent for Java VMs as bytes; AGENT is its path, relative to the repository's root. */
	.section .rodata

	.global jvm_agent_image, jvm_agent_image_end
jvm_agent_image:
	.incbin AGENT
jvm_agent_image_end:
	.byte 0

	.section .note.GNU-stack, "", %progbits
