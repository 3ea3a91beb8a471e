// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/got_slots.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define HEADERS_MAX	64
#define DYNAMIC_MAX	512
#define RELOCATIONS_MAX (1024u * 1024)
#define BATCH		256

struct layout {
	Elf64_Phdr headers[HEADERS_MAX];
	size_t headers_count;
	Elf64_Dyn dynamic[DYNAMIC_MAX];
	size_t dynamic_count;
};

static int read_layout(int fd, struct layout *layout)
{
	Elf64_Ehdr header;
	int r = elf_pread(fd, &header, sizeof(header), 0);

	layout->headers_count = layout->dynamic_count = 0;
	if (r < 0)
		return r;
	if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > HEADERS_MAX)
		return 0;
	r = elf_pread(fd, layout->headers, header.e_phnum * sizeof(Elf64_Phdr), header.e_phoff);
	if (r < 0)
		return r;
	layout->headers_count = header.e_phnum;
	for (size_t i = 0; i < layout->headers_count; i++) {
		const Elf64_Phdr *segment = &layout->headers[i];
		size_t n = segment->p_filesz / sizeof(Elf64_Dyn);

		if (segment->p_type != PT_DYNAMIC)
			continue;
		n = n < DYNAMIC_MAX ? n : DYNAMIC_MAX;
		r = elf_pread(fd, layout->dynamic, n * sizeof(Elf64_Dyn), segment->p_offset);
		layout->dynamic_count = r < 0 ? 0 : n;
		return r;
	}
	return 0;
}

/* Returns the value of a tag in the dynamic section; 0: the tag isn't there. */
static uint64_t dynamic_get(const struct layout *layout, int64_t tag)
{
	for (size_t i = 0; i < layout->dynamic_count && layout->dynamic[i].d_tag != DT_NULL; i++) {
		if (layout->dynamic[i].d_tag == tag)
			return layout->dynamic[i].d_un.d_ptr;
	}
	return 0;
}

/* Finds the file offset of a linked address. Returns false if no segment has the address in the
 * file. */
static bool locate_address(const struct layout *layout, uint64_t address, uint64_t *offset)
{
	for (size_t i = 0; i < layout->headers_count; i++) {
		const Elf64_Phdr *segment = &layout->headers[i];

		if (segment->p_type == PT_LOAD && address - segment->p_vaddr < segment->p_filesz) {
			*offset = address - segment->p_vaddr + segment->p_offset;
			return true;
		}
	}
	return false;
}

static bool fills_with_function(uint16_t machine, uint64_t type)
{
	if (machine == EM_X86_64)
		return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
	return machine == EM_AARCH64 && (type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT);
}

static uint64_t value_of(int fd, const struct elf_image *image, uint64_t number)
{
	const struct elf_extent *symbols = &image->dynsym.symbols;
	Elf64_Sym symbol;

	if (number >= symbols->bytes / sizeof(symbol) ||
	    elf_pread(fd, &symbol, sizeof(symbol), symbols->offset + number * sizeof(symbol)) < 0)
		return 0;
	return symbol.st_shndx == SHN_UNDEF ? 0 : symbol.st_value;
}

static void meet_relocation(int fd, const struct elf_image *image, const Elf64_Rela *relocation,
			    struct slot *slots, size_t count)
{
	if (!fills_with_function(image->machine, ELF64_R_TYPE(relocation->r_info)))
		return;
	for (size_t i = 0; i < count; i++) {
		if (slots[i].address == relocation->r_offset)
			slots[i].leads = value_of(fd, image, ELF64_R_SYM(relocation->r_info));
	}
}

static int read_table(int fd, const struct elf_image *image, const struct layout *layout,
		      uint64_t address, uint64_t bytes, struct slot *slots, size_t count)
{
	uint64_t total = bytes / sizeof(Elf64_Rela), offset;
	Elf64_Rela batch[BATCH];
	int r = 0;

	if (!address || !locate_address(layout, address, &offset))
		return 0;
	if (total > RELOCATIONS_MAX)
		total = RELOCATIONS_MAX;
	for (uint64_t at = 0; r == 0 && at < total; at += BATCH) {
		size_t n = total - at < BATCH ? (size_t)(total - at) : BATCH;

		r = elf_pread(fd, batch, n * sizeof(batch[0]), offset + at * sizeof(batch[0]));
		for (size_t i = 0; r == 0 && i < n; i++)
			meet_relocation(fd, image, &batch[i], slots, count);
	}
	return r;
}

int got_slots_read(int fd, const struct elf_image *image, struct slot *slots, size_t count)
{
	struct layout layout;

	for (size_t i = 0; i < count; i++)
		slots[i].leads = 0;
	if (!count || !image->wide)
		return 0;
	int r = read_layout(fd, &layout);
	if (r == 0)
		r = read_table(fd, image, &layout, dynamic_get(&layout, DT_JMPREL),
			       dynamic_get(&layout, DT_PLTRELSZ), slots, count);
	if (r == 0)
		r = read_table(fd, image, &layout, dynamic_get(&layout, DT_RELA),
			       dynamic_get(&layout, DT_RELASZ), slots, count);
	return r == -EIO ? 0 : r; /* the table is said to be larger than the file */
}
