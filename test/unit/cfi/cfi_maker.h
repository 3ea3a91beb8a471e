/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CFI written by hand, in a tiny ELF file: one executable segment, then .eh_frame or .debug_frame.
 * Rows are told as text: "0 r7+8 u c-8, 4 r7+16 c-16 c-8, 100 none": hexadecimal address from the
 * start of the code, CFA, the caller's frame pointer, return address (as build/test/cfi/dump).
 */
#pragma once

#include "unit/lib/unit.h"

#include <elf.h>
#include <sys/mman.h>

#include "unwind/image.h"

#define CFI_CODE	0x401000u
#define CFI_CODE_OFFSET 0x200u
#define CFI_CODE_BYTES	0x2000u
#define CFI_GOT		(CFI_CODE - 0x10) /* of .got.plt */
#define CFI_FRAMES	0x500000u	  /* the section's address */
#define CFI_FILE_MAX	0x20000u

struct frames {
	uint8_t bytes[0x10000];
	size_t len;
	size_t cie; /* where the last one is */
	bool debug; /* .debug_frame */
};

/* Bytes by their number: PROGRAM(1, 2, 3) for a pointer and a length. */
#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

static inline void frames_put(struct frames *frames, const void *data, size_t bytes)
{
	assert_true(frames->len + bytes <= sizeof(frames->bytes));
	memcpy(frames->bytes + frames->len, data, bytes);
	frames->len += bytes;
}

static inline void frames_u32(struct frames *frames, uint32_t value)
{
	frames_put(frames, &value, sizeof(value));
}

static inline void frames_u64(struct frames *frames, uint64_t value)
{
	frames_put(frames, &value, sizeof(value));
}

/* Fills in an entry's length, when all of it stands there. */
static inline void frames_end(struct frames *frames, size_t entry)
{
	uint32_t length = (uint32_t)(frames->len - entry - 4);

	memcpy(frames->bytes + entry, &length, sizeof(length));
}

/* A CIE from its version byte on. */
static inline void frames_cie(struct frames *frames, const uint8_t *body, size_t bytes)
{
	frames->cie = frames->len;
	frames_u32(frames, 0);
	frames_u32(frames, frames->debug ? UINT32_MAX : 0);
	frames_put(frames, body, bytes);
	frames_end(frames, frames->cie);
}

/* An FDE's head: its length (still wrong) and where its CIE is. */
static inline size_t frames_head(struct frames *frames)
{
	size_t entry = frames->len;

	frames_u32(frames, 0);
	frames_u32(frames, (uint32_t)(frames->debug ? frames->cie : frames->len - frames->cie));
	return entry;
}

/* A function at CFI_CODE + start: by distances of 4 bytes, or absolute in .debug_frame. */
static inline void frames_fde(struct frames *frames, uint32_t start, uint32_t bytes,
			      const uint8_t *program, size_t program_bytes)
{
	size_t entry = frames_head(frames);

	if (frames->debug) {
		frames_u64(frames, CFI_CODE + (uint64_t)start);
		frames_u64(frames, bytes);
	} else {
		frames_u32(frames, CFI_CODE + start - (uint32_t)(CFI_FRAMES + frames->len));
		frames_u32(frames, bytes);
		frames_put(frames, "", 1); /* no augmentation */
	}
	frames_put(frames, program, program_bytes);
	frames_end(frames, entry);
}

/* The usual CIE: zR, factors 1 and -8, CFA = rsp + 8, the return address at CFA - 8. */
#define CIE_USUAL BYTES(1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1)

static inline struct frames frames_usual(void)
{
	static struct frames frames; /* long: not for a stack */

	memset(&frames, 0, sizeof(frames));
	frames_cie(&frames, CIE_USUAL);
	return frames;
}

struct cfi_plan {
	uint16_t machine; /* 0: EM_X86_64 */
	bool debug, deflated, no_sections;
	const uint8_t *frames;
	size_t bytes;
};

/* Section headers and their names. */
static inline size_t plan_sections(const struct cfi_plan *plan, uint8_t *file, size_t at)
{
	static const char names[] = "\0.text\0.eh_frame\0.debug_frame\0.shstrtab\0.got.plt";
	Elf64_Shdr sections[5] = {
		{0},
		{.sh_name = 1,
		 .sh_type = SHT_PROGBITS,
		 .sh_addr = CFI_CODE,
		 .sh_offset = CFI_CODE_OFFSET,
		 .sh_size = CFI_CODE_BYTES},
		{.sh_name = plan->debug ? 17 : 7,
		 .sh_type = SHT_PROGBITS,
		 .sh_flags = plan->deflated ? SHF_COMPRESSED : 0,
		 .sh_addr = plan->debug ? 0 : CFI_FRAMES,
		 .sh_offset = CFI_CODE_OFFSET + CFI_CODE_BYTES,
		 .sh_size = plan->bytes},
		{.sh_name = 30, .sh_type = SHT_STRTAB, .sh_offset = at, .sh_size = sizeof(names)},
		{.sh_name = 40, .sh_type = SHT_PROGBITS, .sh_addr = CFI_GOT, .sh_offset = at},
	};

	memcpy(file + at, names, sizeof(names));
	memcpy(file + at + 64, sections, sizeof(sections));
	return at + 64 + sizeof(sections);
}

/* The open file of a plan. Without sections, .eh_frame_hdr lies before the frames' end. */
static inline int cfi_file(const struct cfi_plan *plan)
{
	static uint8_t file[CFI_FILE_MAX];
	size_t frames = CFI_CODE_OFFSET + CFI_CODE_BYTES, at = (frames + plan->bytes + 79) & ~63UL;
	Elf64_Ehdr head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			   .e_type = ET_DYN,
			   .e_machine = plan->machine ? plan->machine : EM_X86_64,
			   .e_version = EV_CURRENT,
			   .e_phoff = sizeof(head),
			   .e_ehsize = sizeof(head),
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = plan->no_sections ? 3 : 1,
			   .e_shentsize = sizeof(Elf64_Shdr)};
	Elf64_Phdr segments[3] = {
		{.p_type = PT_LOAD,
		 .p_flags = PF_R | PF_X,
		 .p_offset = CFI_CODE_OFFSET,
		 .p_vaddr = CFI_CODE,
		 .p_filesz = CFI_CODE_BYTES,
		 .p_memsz = CFI_CODE_BYTES},
		{.p_type = PT_LOAD,
		 .p_flags = PF_R,
		 .p_offset = frames,
		 .p_vaddr = CFI_FRAMES,
		 .p_filesz = plan->bytes + 12,
		 .p_memsz = plan->bytes + 12},
		{.p_type = PT_GNU_EH_FRAME,
		 .p_offset = frames + plan->bytes,
		 .p_vaddr = CFI_FRAMES + plan->bytes,
		 .p_filesz = 12,
		 .p_memsz = 12},
	};
	struct {
		uint8_t encodings[4];
		int32_t eh_frame;
		uint32_t count;
	} hdr = {{1, 0x1b, 3, 0x3b}, -(int32_t)(plan->bytes + 4), 0};

	assert_true(at + 1024 <= sizeof(file));
	memset(file, 0x90, sizeof(file));
	memcpy(file + frames, plan->frames, plan->bytes);
	memcpy(file + sizeof(head), segments, sizeof(segments));
	if (plan->no_sections) {
		memcpy(file + frames + plan->bytes, &hdr, sizeof(hdr));
	} else {
		head.e_shoff = at + 64;
		head.e_shnum = 5;
		head.e_shstrndx = 3;
		at = plan_sections(plan, file, at);
	}
	memcpy(file, &head, sizeof(head));
	int fd = memfd_create("cfi", MFD_CLOEXEC);
	assert_true(fd >= 0 && write(fd, file, at) == (ssize_t)at);
	return fd;
}

struct rows_text {
	char text[8192];
	size_t len;
	struct cfi_stats stats;
	int error;
};

static inline void rows_say(struct rows_text *rows, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static inline void rows_say(struct rows_text *rows, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int n = vsnprintf(rows->text + rows->len, sizeof(rows->text) - rows->len, format, args);
	va_end(args);
	assert_true(n >= 0 && (size_t)n < sizeof(rows->text) - rows->len);
	rows->len += (size_t)n;
}

static inline void rows_saved(struct rows_text *rows, const struct saved *saved, bool is_ra)
{
	if (saved->kind == SAVED_SAME)
		rows_say(rows, " u");
	else if (saved->kind == SAVED_AT_CFA)
		rows_say(rows, " c%+d", saved->offset);
	else if (saved->kind == SAVED_AT_REG)
		rows_say(rows, " a%+d", saved->offset);
	else if (is_ra)
		rows_say(rows, " r%d", saved->reg);
	else
		rows_say(rows, " lost");
}

static inline void rows_rule(struct rows_text *rows, const struct rule *rule)
{
	static const char *const unsupported[] = {"expression", "register", "offset",
						  "ra",		"sp",	    "program"};

	if (rule->kind == RULE_NONE) {
		rows_say(rows, " none");
	} else if (rule->kind == RULE_END) {
		rows_say(rows, " end");
	} else if (rule->kind == RULE_PLT) {
		rows_say(rows, " plt%u", rule->plt_from);
	} else if (rule->kind == RULE_UNSUPPORTED) {
		rows_say(rows, " !%s", unsupported[rule->unsupported]);
	} else {
		if (rule->cfa_index)
			rows_say(rows, " *(r%u%+d+8*r%u)%+d", rule->cfa_reg, rule->cfa_offset,
				 rule->cfa_index, rule->cfa_post);
		else if (rule->cfa_deref)
			rows_say(rows, " *(r%u%+d)%+d", rule->cfa_reg, rule->cfa_offset,
				 rule->cfa_post);
		else
			rows_say(rows, " r%u%+d", rule->cfa_reg, rule->cfa_offset);
		rows_saved(rows, &rule->fp, false);
		rows_saved(rows, &rule->ra, true);
		if (rule->bx.kind != SAVED_SAME) {
			rows_say(rows, " bx");
			rows_saved(rows, &rule->bx, false);
		}
		if (rule->signal)
			rows_say(rows, " signal");
	}
}

static inline int rows_sink(void *arg, uint64_t address, const struct rule *rule)
{
	struct rows_text *rows = arg;

	rows_say(rows, "%s%llx", rows->len ? ", " : "", (unsigned long long)(address - CFI_CODE));
	rows_rule(rows, rule);
	return 0;
}

/* Reads a plan's rows. */
static inline struct rows_text *plan_rows(const struct cfi_plan *plan)
{
	static struct rows_text rows;
	struct elf_image elf;
	int fd = cfi_file(plan);

	memset(&rows, 0, sizeof(rows));
	assert_int_equal(elf_read(fd, &elf), 0);
	rows.error = cfi_read(fd, &elf, rows_sink, &rows, &rows.stats);
	close(fd);
	return &rows;
}

static inline struct rows_text *frames_rows(const struct frames *frames)
{
	return plan_rows(&(struct cfi_plan){
		.debug = frames->debug, .frames = frames->bytes, .bytes = frames->len});
}
