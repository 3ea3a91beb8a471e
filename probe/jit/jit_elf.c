// SPDX-License-Identifier: GPL-2.0-or-later
#include "jit/jit_elf.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define SECTIONS_MAX 4096
#define TEXT_MAX     4096 /* bytes of a name; a longer one is none */

#if defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_X86_64
#endif

static bool has_bytes(const struct jit_elf *elf, uint64_t at, uint64_t count)
{
	return at <= elf->count && count <= elf->count - at;
}

static size_t sections_count(const struct jit_elf *elf)
{
	return elf->sections.count / sizeof(Elf64_Shdr);
}

static bool section_at(const struct jit_elf *elf, size_t number, Elf64_Shdr *section)
{
	if (number >= sections_count(elf))
		return false;
	memcpy(section, elf->bytes + elf->sections.at + number * sizeof(*section),
	       sizeof(*section));
	return true;
}

static struct jit_bytes bytes_of(const struct jit_elf *elf, const Elf64_Shdr *section)
{
	if (section->sh_type == SHT_NOBITS || section->sh_flags & SHF_COMPRESSED ||
	    !has_bytes(elf, section->sh_offset, section->sh_size))
		return (struct jit_bytes){0};
	return (struct jit_bytes){(size_t)section->sh_offset, (size_t)section->sh_size};
}

/* Returns the text at that place of a string table, *len bytes; NULL: it has no end there. */
static const char *text_at(const struct jit_elf *elf, const struct jit_bytes *strings, uint64_t at,
			   size_t *len)
{
	if (at >= strings->count)
		return NULL;
	const char *text = (const char *)elf->bytes + strings->at + at;
	size_t left = strings->count - (size_t)at;
	const char *end = memchr(text, '\0', left < TEXT_MAX ? left : TEXT_MAX);
	if (!end)
		return NULL;
	*len = (size_t)(end - text);
	return text;
}

static int read_header(struct jit_elf *elf, size_t *names)
{
	Elf64_Ehdr header;

	if (!has_bytes(elf, 0, sizeof(header)))
		return -EBADMSG;
	memcpy(&header, elf->bytes, sizeof(header));
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
	    header.e_machine != MACHINE || header.e_shentsize != sizeof(Elf64_Shdr) ||
	    header.e_shnum > SECTIONS_MAX ||
	    !has_bytes(elf, header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr)))
		return -EBADMSG;
	elf->machine = header.e_machine;
	elf->is_relocatable = header.e_type == ET_REL;
	elf->sections =
		(struct jit_bytes){(size_t)header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr)};
	*names = header.e_shstrndx;
	return 0;
}

static void take_code(struct jit_elf *elf, const Elf64_Shdr *section)
{
	uint64_t end;

	if (!section->sh_addr || !section->sh_size || elf->code_count == JIT_RANGES_MAX ||
	    __builtin_add_overflow(section->sh_addr, section->sh_size, &end))
		return;
	elf->code[elf->code_count++] = (struct jit_range){section->sh_addr, end};
}

static void take_named(struct jit_elf *elf, const char *name, const Elf64_Shdr *section)
{
	if (strcmp(name, ".eh_frame") == 0) {
		elf->eh_frame = bytes_of(elf, section);
		elf->eh_frame_at = section->sh_flags & SHF_ALLOC ? section->sh_addr : 0;
		elf->eh_frame_bytes = section->sh_size;
	} else if (strcmp(name, ".debug_frame") == 0) {
		elf->debug_frame = bytes_of(elf, section);
	} else if (strcmp(name, ".text") == 0) {
		elf->text_at = section->sh_addr;
	}
}

static void take_section(struct jit_elf *elf, const struct jit_bytes *names,
			 const Elf64_Shdr *section)
{
	Elf64_Shdr strings;
	size_t len;

	if (section->sh_flags & SHF_EXECINSTR)
		take_code(elf, section);
	if (section->sh_type == SHT_SYMTAB && section_at(elf, section->sh_link, &strings)) {
		elf->symbols = bytes_of(elf, section);
		elf->strings = bytes_of(elf, &strings);
	}
	const char *name = text_at(elf, names, section->sh_name, &len);
	if (name)
		take_named(elf, name, section);
}

int jit_elf_read(struct jit_elf *elf, const uint8_t *bytes, size_t count)
{
	struct jit_bytes names = {0};
	Elf64_Shdr section;
	size_t names_number = 0;

	*elf = (struct jit_elf){.bytes = bytes, .count = count};
	int r = read_header(elf, &names_number);
	if (r < 0)
		return r;
	if (section_at(elf, names_number, &section))
		names = bytes_of(elf, &section);
	for (size_t i = 0; section_at(elf, i, &section); i++)
		take_section(elf, &names, &section);
	return elf->code_count ? 0 : -EBADMSG;
}

/* ---- symbols ---- */

static bool is_code(const struct jit_elf *elf, const struct jit_symbol *symbol)
{
	for (size_t i = 0; i < elf->code_count; i++) {
		if (symbol->start >= elf->code[i].start && symbol->end <= elf->code[i].end)
			return true;
	}
	return false;
}

/* Finds a function's place in memory; returns false if the symbol is none. */
static bool place_symbol(const struct jit_elf *elf, const Elf64_Sym *raw, struct jit_symbol *symbol)
{
	uint64_t base = 0;
	Elf64_Shdr section;

	if (ELF64_ST_TYPE(raw->st_info) != STT_FUNC || !raw->st_size || raw->st_shndx == SHN_UNDEF)
		return false;
	if (elf->is_relocatable && raw->st_shndx < SHN_LORESERVE) {
		if (!section_at(elf, raw->st_shndx, &section) || !section.sh_addr)
			return false;
		base = section.sh_addr;
	}
	if (__builtin_add_overflow(base, raw->st_value, &symbol->start) ||
	    __builtin_add_overflow(symbol->start, raw->st_size, &symbol->end))
		return false;
	symbol->is_local = ELF64_ST_BIND(raw->st_info) == STB_LOCAL;
	return is_code(elf, symbol);
}

int jit_elf_symbols(const struct jit_elf *elf,
		    int (*each)(void *arg, const struct jit_symbol *symbol), void *arg)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < elf->symbols.count / sizeof(Elf64_Sym); i++) {
		struct jit_symbol symbol;
		Elf64_Sym raw;

		memcpy(&raw, elf->bytes + elf->symbols.at + i * sizeof(raw), sizeof(raw));
		if (!place_symbol(elf, &raw, &symbol))
			continue;
		symbol.name = text_at(elf, &elf->strings, raw.st_name, &symbol.len);
		if (symbol.name && symbol.len)
			r = each(arg, &symbol);
	}
	return r;
}
