/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A parser of ELF files: says where segments, symbols, call frame information and other sections
 * lie. Every file is hostile: all numbers are checked against the file's size and fixed limits,
 * nothing is mapped into memory (a file that shrinks would kill us), and parts that fail a check
 * are left out. Files of the other byte order are refused. May hang: in a job.
 *
 * Source: System V ABI, ELF-64 object file format; LSB for .eh_frame_hdr and build id notes; GDB's
 * manual ("Separate Debug Files") for .gnu_debuglink; dwz's for .gnu_debugaltlink; SystemTap's
 * sys/sdt.h for .note.stapsdt.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUILD_ID_MAX	 64
#define ELF_SEGMENTS_MAX 16

/* A piece of the file; bytes = 0: the file has none. */
struct elf_extent {
	uint64_t offset, bytes;
};

/* A PT_LOAD segment. */
struct elf_segment {
	uint64_t file_offset, file_bytes;
	uint64_t address; /* the address that the file was linked for */
};

struct elf_symbols {
	struct elf_extent symbols; /* Elf32_Sym or Elf64_Sym */
	struct elf_extent strings;
};

/* Call frame information, and the addresses to which encoded pointers in it may be relative. */
struct elf_frames {
	struct elf_extent eh_frame;
	uint64_t eh_frame_address;
	bool eh_frame_open; /* found without section headers: .eh_frame ends at an empty entry */
	struct elf_extent debug_frame;
	bool debug_frame_deflated; /* SHF_COMPRESSED: the section begins with an Elf64_Chdr */
	uint64_t text_address, got_address;
};

struct elf_image {
	bool wide; /* 64-bit */
	bool has_sections;
	bool is_go; /* Go's linker made the file, or took part: it has .go.buildinfo */
	uint16_t machine;
	bool is_fixed;	/* ET_EXEC: loaded where it was linked */
	uint64_t entry; /* linked address of a program's first instruction; 0: none */
	uint64_t file_bytes;
	struct elf_segment segments[ELF_SEGMENTS_MAX]; /* executable PT_LOAD segments */
	size_t segments_count;
	struct elf_segment data[ELF_SEGMENTS_MAX]; /* the other PT_LOAD segments */
	size_t data_count;
	struct elf_symbols symtab, dynsym;
	struct elf_extent dynamic; /* the dynamic linker's tags */
	struct elf_extent eh_frame_hdr;
	uint64_t eh_frame_hdr_address;
	struct elf_frames frames;
	struct elf_extent gopclntab;	 /* Go's functions; may exist without a section */
	struct elf_extent gnu_debugdata; /* a separate debug file, packed by xz */
	uint8_t build_id[BUILD_ID_MAX];
	size_t build_id_bytes; /* 0: none */
	char debuglink[256];   /* "": none */
	uint32_t debuglink_crc;
	struct elf_extent debugaltlink; /* a file name with its NUL, then a build id */
	struct elf_extent stapsdt;	/* notes of static probes (USDT) … */
	uint64_t stapsdt_base;		/* … and the address of .stapsdt.base; 0: there is none */
	bool has_debug_info;		/* has .debug_info: DWARF's functions and lines */
};

/* Reads a regular file. Returns 0, or a negative errno: -ENOEXEC if it isn't an ELF file of this
 * byte order; -EBADMSG if its headers make no sense; -ENOMEM; the errno of reading. */
int elf_read(int fd, struct elf_image *image);

/* Finds the linked address of a file offset. Returns false if no segment holds the offset. */
bool elf_address_of(const struct elf_segment *segments, size_t count, uint64_t file_offset,
		    uint64_t *address);

/* Find the file offset of a linked address, in these segments, or in any of the file. Return false
 * if none holds it. */
bool elf_segment_offset(const struct elf_segment *segments, size_t count, uint64_t address,
			uint64_t *offset);
bool elf_offset_of(const struct elf_image *image, uint64_t address, uint64_t *offset);

/* Returns the size of the largest executable segment, bytes. */
uint64_t elf_code_bytes(const struct elf_image *image);

/* Reads all `bytes` bytes with pread(). Returns 0, or a negative errno: -EIO if the file ends
 * before. */
int elf_pread(int fd, void *to, size_t bytes, uint64_t offset);
