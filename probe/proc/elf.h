/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is where in an ELF file. Every file is hostile: all numbers are checked against the file's
 * size and fixed limits, nothing is mapped into memory (a file that shrinks would kill us), and
 * what does not hold is left out. Files of other byte orders are refused.
 *
 * Source: System V ABI, ELF-64 object file format; LSB for .eh_frame_hdr and build id notes; GDB's
 * manual ("Separate Debug Files") for .gnu_debuglink; dwz's for .gnu_debugaltlink.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUILD_ID_MAX	 64
#define ELF_SEGMENTS_MAX 16

/* A piece of the file; bytes = 0: not there. */
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

/* Call frame information, and what encoded pointers in it may be relative to. */
struct elf_frames {
	struct elf_extent eh_frame;
	uint64_t eh_frame_address;
	bool eh_frame_open; /* found without section headers: its end is the first empty entry */
	struct elf_extent debug_frame;
	bool debug_frame_deflated; /* SHF_COMPRESSED: begins with an Elf64_Chdr */
	uint64_t text_address, got_address;
};

struct elf_image {
	bool wide; /* 64-bit */
	bool has_sections;
	bool is_go; /* Go's linker made it, or took part */
	uint16_t machine;
	uint64_t file_bytes;
	struct elf_segment segments[ELF_SEGMENTS_MAX];
	size_t segments_count;
	struct elf_segment data[ELF_SEGMENTS_MAX]; /* PT_LOAD segments that aren't executable */
	size_t data_count;
	struct elf_symbols symtab, dynsym;
	struct elf_extent eh_frame_hdr;
	uint64_t eh_frame_hdr_address;
	struct elf_frames frames;
	struct elf_extent gopclntab;	 /* Go's functions; it may be there without a section */
	struct elf_extent gnu_debugdata; /* a separate debug file, packed by xz */
	uint8_t build_id[BUILD_ID_MAX];
	size_t build_id_bytes; /* 0: none */
	char debuglink[256];   /* "": none */
	uint32_t debuglink_crc;
	struct elf_extent debugaltlink; /* a file name with its NUL, then a build id */
	bool has_debug_info;		/* DWARF's functions and lines may be in it */
};

/* Reads a regular file. -ENOEXEC not an ELF file of this byte order, -EBADMSG its headers make no
 * sense, or the errno of reading. */
int elf_read(int fd, struct elf_image *image);

/* The linked address of a file offset; false when no executable segment holds it. */
bool elf_address_of(const struct elf_segment *segments, size_t count, uint64_t file_offset,
		    uint64_t *address);

/* Of its largest executable segment. */
uint64_t elf_code_bytes(const struct elf_image *image);

/* pread() of all bytes: -EIO when the file ends before. */
int elf_pread(int fd, void *to, size_t bytes, uint64_t offset);
