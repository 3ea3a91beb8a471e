/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the HotSpot VM in a file (libjvm, or a program that contains it), and reads the layout of
 * its data from a process that has loaded the VM. The VM's own tables (gHotSpotVMStructs and its
 * kin) say where the VM keeps its data. File and process are hostile: work is bounded, every number
 * checked.
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
	HOTSPOT_STRUCT_STRIDE, /* gHotSpotVMStructEntryArrayStride; then the members' offsets */
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
	uint64_t symbols[HOTSPOT_SYMBOL_COUNT]; /* addresses as linked */
};

/* Looks for a VM in an open file, in a job. Returns 0; -ENOENT if there is none; or an errno of
 * reading. */
int hotspot_find(int fd, const struct elf_image *image, struct hotspot_file *file);

/*
 * Reads the layout that the walker and the readers need from a process in which the file lies at
 * `bias`, in a job. Returns 0, or a negative errno: -EAGAIN if the VM has not made its code cache
 * yet; -ENOTSUP if the VM lacks something that is needed (*missing: the first such field, or NULL);
 * -EBADMSG if its data makes no sense; -ENOMEM; an errno of reading.
 */
int hotspot_of_memory(const struct process_memory *memory, const struct hotspot_file *file,
		      uint64_t bias, struct jvm_layout *layout, const char **missing);
