/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tiny ELF files for tests, written by hand: one executable segment, and the sections that a plan
 * asks for.
 *
 *	0x0000 headers | 0x0100 code (0x400 bytes, linked at CODE_ADDRESS) | 0x0500 the rest
 */
#pragma once

#include "unit/lib/unit.h"

#include <elf.h>
#include <sys/mman.h>

#define CODE_ADDRESS 0x400100u
#define CODE_OFFSET  0x100u
#define CODE_BYTES   0x400u
#define IMAGE_MAX    0x8000u

struct symbol_plan {
	const char *name;
	uint32_t value, size; /* value: from the start of the code */
	unsigned char type, binding;
	bool undefined;
};

#define FUNCTION(name, value, size)                                                                \
	{                                                                                          \
		name, value, size, STT_FUNC, STB_GLOBAL, false                                     \
	}

/* A section of any name. */
struct section_plan {
	const char *name;
	const void *data;
	size_t bytes;
};

struct elf_plan {
	bool narrow; /* 32-bit */
	const struct symbol_plan *symbols, *dynamic;
	size_t symbols_count, dynamic_count;
	const uint32_t *unwind; /* function starts of .eh_frame_hdr, from the start of the code */
	size_t unwind_count;
	const char *build_id; /* bytes */
	size_t build_id_bytes;
	const char *debuglink;
	uint32_t crc;
	const struct section_plan *sections;
	size_t sections_count;
	bool no_code;	     /* a separate debug file: its segment has no bytes */
	const uint8_t *code; /* CODE_BYTES; NULL: zeros */
};

struct elf_maker {
	unsigned char image[IMAGE_MAX];
	size_t len;
	bool narrow;
	struct {
		uint32_t name, type, offset, bytes, link, address;
	} sections[16];
	unsigned sections_count;
	char names[256];
	size_t names_len;
};

static inline uint32_t maker_add(struct elf_maker *maker, const void *data, size_t bytes)
{
	size_t at = (maker->len + 7) & ~(size_t)7;

	assert_true(at + bytes <= IMAGE_MAX);
	memcpy(maker->image + at, data, bytes);
	maker->len = at + bytes;
	return (uint32_t)at;
}

static inline unsigned maker_section(struct elf_maker *maker, const char *name, uint32_t type,
				     const void *data, size_t bytes)
{
	unsigned i = maker->sections_count++;

	maker->sections[i].name = (uint32_t)maker->names_len;
	memcpy(maker->names + maker->names_len, name, strlen(name) + 1);
	maker->names_len += strlen(name) + 1;
	maker->sections[i].type = type;
	maker->sections[i].bytes = (uint32_t)bytes;
	maker->sections[i].offset = bytes ? maker_add(maker, data, bytes) : 0;
	return i;
}

static inline void maker_symbols(struct elf_maker *maker, const char *name, uint32_t type,
				 const struct symbol_plan *plans, size_t count)
{
	unsigned char table[0x2000] = {0};
	char strings[0x2000] = "";
	size_t each = maker->narrow ? sizeof(Elf32_Sym) : sizeof(Elf64_Sym), strings_len = 1;

	for (size_t i = 0; i < count; i++) {
		const struct symbol_plan *plan = &plans[i];
		unsigned char info = (unsigned char)(plan->binding << 4 | plan->type);
		uint16_t section = plan->undefined ? SHN_UNDEF : 1;
		Elf64_Sym wide = {.st_name = plan->name[0] ? (uint32_t)strings_len : 0,
				  .st_info = info,
				  .st_shndx = section,
				  .st_value = CODE_ADDRESS + plan->value,
				  .st_size = plan->size};
		Elf32_Sym narrow = {.st_name = wide.st_name,
				    .st_info = info,
				    .st_shndx = section,
				    .st_value = (uint32_t)wide.st_value,
				    .st_size = plan->size};

		assert_true((i + 2) * each <= sizeof(table) &&
			    strings_len + strlen(plan->name) < sizeof(strings));
		memcpy(table + (i + 1) * each, maker->narrow ? (void *)&narrow : (void *)&wide,
		       each);
		memcpy(strings + strings_len, plan->name, strlen(plan->name) + 1);
		strings_len += strlen(plan->name) + 1;
	}
	unsigned at = maker_section(maker, name, type, table, (count + 1) * each);
	maker->sections[at].link = at + 1;
	maker_section(maker, ".strtab", SHT_STRTAB, strings, strings_len);
}

static inline void maker_segment(struct elf_maker *maker, unsigned i, uint32_t type,
				 uint32_t offset, uint32_t address, uint32_t bytes)
{
	Elf64_Phdr wide = {.p_type = type,
			   .p_flags = PF_R | (type == PT_LOAD ? PF_X : 0),
			   .p_offset = offset,
			   .p_vaddr = address,
			   .p_filesz = bytes,
			   .p_memsz = bytes,
			   .p_align = 1};
	Elf32_Phdr narrow = {.p_type = type,
			     .p_flags = wide.p_flags,
			     .p_offset = offset,
			     .p_vaddr = address,
			     .p_filesz = bytes,
			     .p_memsz = bytes,
			     .p_align = 1};

	if (maker->narrow)
		memcpy(maker->image + sizeof(Elf32_Ehdr) + i * sizeof(narrow), &narrow,
		       sizeof(narrow));
	else
		memcpy(maker->image + sizeof(Elf64_Ehdr) + i * sizeof(wide), &wide, sizeof(wide));
}

/* Version 1; .eh_frame pc-relative sdata4, count udata4, table sdata4 relative to the section. */
static inline void maker_unwind(struct elf_maker *maker, const struct elf_plan *plan)
{
	uint32_t table[3 + 2 * 64] = {0x3b031b01, 0, (uint32_t)plan->unwind_count};
	uint32_t bytes = (uint32_t)(12 + 8 * plan->unwind_count);
	uint32_t at = (uint32_t)((maker->len + 7) & ~(size_t)7), address = 0x500000 + at;

	assert_true(plan->unwind_count <= 64);
	for (size_t i = 0; i < plan->unwind_count; i++)
		table[3 + 2 * i] = CODE_ADDRESS + plan->unwind[i] - address;
	maker_section(maker, ".eh_frame_hdr", SHT_PROGBITS, table, bytes);
	maker_segment(maker, 2, PT_GNU_EH_FRAME, at, address, bytes);
}

static inline void maker_notes(struct elf_maker *maker, const struct elf_plan *plan)
{
	unsigned char note[128] = {0};
	uint32_t head[3] = {4, (uint32_t)plan->build_id_bytes, NT_GNU_BUILD_ID};
	char link[128] = "";
	size_t len;

	if (plan->build_id) {
		memcpy(note, head, 12);
		memcpy(note + 12, "GNU", 4);
		memcpy(note + 16, plan->build_id, plan->build_id_bytes);
		maker_section(maker, ".note.gnu.build-id", SHT_NOTE, note,
			      (16 + plan->build_id_bytes + 3) & ~(size_t)3);
	}
	if (plan->debuglink) {
		len = (strlen(plan->debuglink) + 4) & ~(size_t)3;
		strcpy(link, plan->debuglink);
		memcpy(link + len, &plan->crc, 4);
		maker_section(maker, ".gnu_debuglink", SHT_PROGBITS, link, len + 4);
	}
}

static inline void maker_headers(struct elf_maker *maker)
{
	unsigned char table[16 * sizeof(Elf64_Shdr)] = {0};
	unsigned names = maker_section(maker, ".shstrtab", SHT_STRTAB, maker->names,
				       maker->names_len + sizeof(".shstrtab"));
	unsigned count = maker->sections_count;
	size_t each = maker->narrow ? sizeof(Elf32_Shdr) : sizeof(Elf64_Shdr);

	for (unsigned i = 0; i < count; i++) {
		Elf64_Shdr wide = {.sh_name = maker->sections[i].name,
				   .sh_type = maker->sections[i].type,
				   .sh_addr = maker->sections[i].address,
				   .sh_offset = maker->sections[i].offset,
				   .sh_size = maker->sections[i].bytes,
				   .sh_link = maker->sections[i].link};
		Elf32_Shdr narrow = {.sh_name = wide.sh_name,
				     .sh_type = wide.sh_type,
				     .sh_addr = maker->sections[i].address,
				     .sh_offset = maker->sections[i].offset,
				     .sh_size = maker->sections[i].bytes,
				     .sh_link = wide.sh_link};

		if (wide.sh_type == SHT_SYMTAB || wide.sh_type == SHT_DYNSYM) {
			wide.sh_entsize = sizeof(Elf64_Sym);
			narrow.sh_entsize = sizeof(Elf32_Sym);
		}
		memcpy(table + i * each, maker->narrow ? (void *)&narrow : (void *)&wide, each);
	}
	uint32_t at = maker_add(maker, table, count * each);
	Elf64_Ehdr wide = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			   .e_type = ET_EXEC,
			   .e_machine = EM_X86_64,
			   .e_version = EV_CURRENT,
			   .e_phoff = sizeof(wide),
			   .e_shoff = at,
			   .e_ehsize = sizeof(wide),
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = 3,
			   .e_shentsize = sizeof(Elf64_Shdr),
			   .e_shnum = (uint16_t)count,
			   .e_shstrndx = (uint16_t)names};
	Elf32_Ehdr narrow = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, EV_CURRENT},
			     .e_type = ET_EXEC,
			     .e_machine = EM_386,
			     .e_version = EV_CURRENT,
			     .e_phoff = sizeof(narrow),
			     .e_shoff = at,
			     .e_ehsize = sizeof(narrow),
			     .e_phentsize = sizeof(Elf32_Phdr),
			     .e_phnum = 3,
			     .e_shentsize = sizeof(Elf32_Shdr),
			     .e_shnum = (uint16_t)count,
			     .e_shstrndx = (uint16_t)names};
	memcpy(maker->image, maker->narrow ? (void *)&narrow : (void *)&wide,
	       maker->narrow ? sizeof(narrow) : sizeof(wide));
}

/* Makes the image; returns its length. */
static inline size_t elf_make(struct elf_maker *maker, const struct elf_plan *plan)
{
	*maker = (struct elf_maker){.len = CODE_OFFSET + CODE_BYTES, .narrow = plan->narrow};
	maker_section(maker, "", SHT_NULL, NULL, 0);
	maker_section(maker, ".text", plan->no_code ? SHT_NOBITS : SHT_PROGBITS, NULL, 0);
	maker->sections[1].offset = CODE_OFFSET;
	maker->sections[1].bytes = CODE_BYTES;
	maker->sections[1].address = CODE_ADDRESS;
	if (plan->symbols_count)
		maker_symbols(maker, ".symtab", SHT_SYMTAB, plan->symbols, plan->symbols_count);
	if (plan->dynamic_count)
		maker_symbols(maker, ".dynsym", SHT_DYNSYM, plan->dynamic, plan->dynamic_count);
	maker_segment(maker, 0, PT_LOAD, CODE_OFFSET, CODE_ADDRESS, plan->no_code ? 0 : CODE_BYTES);
	maker_segment(maker, 1, PT_NULL, 0, 0, 0);
	maker_segment(maker, 2, PT_NULL, 0, 0, 0);
	maker_notes(maker, plan);
	if (plan->code)
		memcpy(maker->image + CODE_OFFSET, plan->code, CODE_BYTES);
	for (size_t i = 0; i < plan->sections_count; i++)
		maker_section(maker, plan->sections[i].name, SHT_PROGBITS, plan->sections[i].data,
			      plan->sections[i].bytes);
	if (plan->unwind_count)
		maker_unwind(maker, plan);
	maker_headers(maker);
	return maker->len;
}

/* An open file in memory with these bytes. */
static inline int file_of(const void *data, size_t bytes)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, bytes), bytes);
	return fd;
}

static inline int elf_file(const struct elf_plan *plan)
{
	struct elf_maker *maker = malloc(sizeof(*maker));

	assert_non_null(maker);
	int fd = file_of(maker->image, elf_make(maker, plan));
	free(maker);
	return fd;
}
