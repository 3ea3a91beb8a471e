/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The HotSpot VM in a file (libjvm, or a program that has it inside) and in a process that has it
 * loaded: its own tables (gHotSpotVMStructs and its kin) say where it keeps what. Both are hostile:
 * bounded work, every number checked.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "proc/elf.h"
#include "java/vm/jvmlayout.h"
#include "proc/process_memory.h"

/* The tables' symbols, in the file's .dynsym. */
enum hotspot_symbol {
	HOTSPOT_STRUCTS,       /* gHotSpotVMStructs: address of the first entry */
	HOTSPOT_TYPES,	       /* gHotSpotVMTypes */
	HOTSPOT_INT_CONSTANTS, /* gHotSpotVMIntConstants */
	HOTSPOT_STRUCT_STRIDE, /* gHotSpotVMStructEntryArrayStride, … and where in an entry */
	HOTSPOT_STRUCT_TYPE_NAME,
	HOTSPOT_STRUCT_FIELD_NAME,
	HOTSPOT_STRUCT_TYPE_STRING,
	HOTSPOT_STRUCT_IS_STATIC,
	HOTSPOT_STRUCT_OFFSET,
	HOTSPOT_STRUCT_ADDRESS,
	HOTSPOT_TYPE_STRIDE,
	HOTSPOT_TYPE_NAME,
	HOTSPOT_TYPE_SIZE,
	HOTSPOT_INT_STRIDE,
	HOTSPOT_INT_NAME,
	HOTSPOT_INT_VALUE,
	HOTSPOT_SYMBOL_COUNT
};

struct hotspot_file {
	uint64_t symbols[HOTSPOT_SYMBOL_COUNT]; /* addresses as linked; 0: it hasn't got it */
};

/* -ENOENT: there is none; or the errno of reading. In a job. */
int hotspot_find(int fd, const struct elf_image *image, struct hotspot_file *file);

/*
 * What the walker and the readers need of a process in which the file lies at `bias`. -EAGAIN: the
 * VM has not made its code cache yet; -ENOTSUP: it has not all that is needed (*missing: the first
 * field, or NULL); -EBADMSG: what it says makes no sense; or the errno of reading. In a job.
 */
int hotspot_of_memory(const struct process_memory *memory, const struct hotspot_file *file,
		      uint64_t bias, struct jvm_layout *layout, const char **missing);
