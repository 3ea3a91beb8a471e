/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An ELF file in memory that describes made code to debuggers, as compilers of such code write it:
 * either an object file whose sections were loaded elsewhere (LLVM), or a file for where the code
 * lies (QEMU). All its functions are of one kind, 11 bytes of x86-64:
 *
 *	sub $24, %rsp; call *%rdi; add $24, %rsp; ret
 */
#pragma once

#include <elf.h>
#include <stdint.h>
#include <string.h>

#define MADE_BYTES  16 /* from a function to the next */
#define MADE_CODE   11
#define MADE_MAX    8
#define MADE_TEXT   512
#define MADE_FRAMES 1024

static const unsigned char made_function[MADE_CODE] = {0x48, 0x83, 0xec, 24, 0xff, 0xd7,
						       0x48, 0x83, 0xc4, 24, 0xc3};

enum { MADE_NONE, MADE_CODE_SECTION, MADE_EH_FRAME, MADE_SYMTAB, MADE_STRTAB, MADE_SECTIONS };

struct made_elf {
	Elf64_Ehdr header;
	Elf64_Shdr sections[MADE_SECTIONS];
	Elf64_Sym symbols[1 + MADE_MAX];
	char text[MADE_TEXT];
	unsigned char frames[MADE_FRAMES];
};

static inline size_t made_put(unsigned char *to, size_t at, const void *from, size_t bytes)
{
	memcpy(to + at, from, bytes);
	return at + bytes;
}

/* Writes .eh_frame for functions one behind the other; pointers in it are plain addresses. Returns
 * its bytes. */
static inline size_t made_frames(unsigned char *to, uint64_t code, size_t functions)
{
	/* version 1, "zR", code alignment 1, data alignment -8, return address in 16, plain
	 * pointers; CFA = rsp + 8, the return address at CFA - 8 */
	static const unsigned char cie[] = {0,	0, 0, 0,    1, 'z', 'R',  0, 1, 0x78,
					    16, 1, 0, 0x0c, 7, 8,   0x90, 1, 0, 0};
	/* advance 4; CFA = rsp + 32; advance 6; CFA = rsp + 8 */
	static const unsigned char program[] = {0, 0x44, 0x0e, 32, 0x46, 0x0e, 8, 0};
	uint32_t length = sizeof(cie), distance;
	uint64_t bytes = MADE_CODE;
	size_t at = made_put(to, 0, &length, sizeof(length));

	at = made_put(to, at, cie, sizeof(cie));
	for (size_t i = 0; i < functions; i++) {
		uint64_t start = code + i * MADE_BYTES;

		length = sizeof(distance) + 2 * sizeof(uint64_t) + sizeof(program);
		at = made_put(to, at, &length, sizeof(length));
		distance = (uint32_t)at;
		at = made_put(to, at, &distance, sizeof(distance));
		at = made_put(to, at, &start, sizeof(start));
		at = made_put(to, at, &bytes, sizeof(bytes));
		at = made_put(to, at, program, sizeof(program));
	}
	length = 0;
	return made_put(to, at, &length, sizeof(length));
}

static inline size_t made_text(struct made_elf *elf, size_t *at, const char *name)
{
	size_t before = *at, bytes = strlen(name) + 1;

	if (before + bytes > sizeof(elf->text))
		return 0;
	memcpy(elf->text + before, name, bytes);
	*at += bytes;
	return before;
}

static inline void made_sections(struct made_elf *elf, uint64_t code, size_t functions, size_t *at)
{
	Elf64_Shdr *section = elf->sections;
	const char *base = (const char *)elf;

	section[MADE_CODE_SECTION] = (Elf64_Shdr){
		.sh_name = (Elf64_Word)made_text(elf, at, ".text"),
		.sh_type = SHT_NOBITS,
		.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
		.sh_addr = code,
		.sh_size = functions * MADE_BYTES,
	};
	section[MADE_EH_FRAME] = (Elf64_Shdr){
		.sh_name = (Elf64_Word)made_text(elf, at, ".eh_frame"),
		.sh_type = SHT_PROGBITS,
		.sh_flags = SHF_ALLOC,
		.sh_offset = (Elf64_Off)((const char *)elf->frames - base),
	};
	section[MADE_SYMTAB] = (Elf64_Shdr){
		.sh_name = (Elf64_Word)made_text(elf, at, ".symtab"),
		.sh_type = SHT_SYMTAB,
		.sh_offset = (Elf64_Off)((const char *)elf->symbols - base),
		.sh_size = (1 + functions) * sizeof(Elf64_Sym),
		.sh_link = MADE_STRTAB,
		.sh_entsize = sizeof(Elf64_Sym),
	};
	section[MADE_STRTAB] = (Elf64_Shdr){
		.sh_name = (Elf64_Word)made_text(elf, at, ".strtab"),
		.sh_type = SHT_STRTAB,
		.sh_offset = (Elf64_Off)(elf->text - base),
		.sh_size = sizeof(elf->text),
	};
}

/* Describes `functions` functions at `code`. `loaded` is where .eh_frame was put for an object
 * file, as made_frames() writes it; NULL: the file itself has it. */
static inline void made_elf_fill(struct made_elf *elf, uint64_t code, const char *const *names,
				 size_t functions, const unsigned char *loaded)
{
	size_t at = 1, bytes = made_frames(elf->frames, code, functions);

	elf->header = (Elf64_Ehdr){
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = loaded ? ET_REL : ET_EXEC,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_shoff = (Elf64_Off)((const char *)elf->sections - (const char *)elf),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = MADE_SECTIONS,
		.e_shstrndx = MADE_STRTAB,
	};
	memset(elf->sections, 0, sizeof(elf->sections));
	memset(elf->symbols, 0, sizeof(elf->symbols));
	memset(elf->text, 0, sizeof(elf->text));
	made_sections(elf, code, functions, &at);
	elf->sections[MADE_EH_FRAME].sh_size = bytes;
	elf->sections[MADE_EH_FRAME].sh_addr = (uint64_t)(uintptr_t)(loaded ? loaded : elf->frames);
	if (loaded) /* nobody relocates the copy */
		memset(elf->frames, 0xee, sizeof(elf->frames));
	for (size_t i = 0; i < functions; i++)
		elf->symbols[1 + i] = (Elf64_Sym){
			.st_name = (Elf64_Word)made_text(elf, &at, names[i]),
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_shndx = MADE_CODE_SECTION,
			.st_value = i * MADE_BYTES + (loaded ? 0 : code),
			.st_size = MADE_CODE,
		};
}
