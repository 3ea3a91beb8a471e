// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/elf.h"

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define SECTIONS_MAX	  16384 /* of a program or library, not of an object file */
#define SECTION_NAMES_MAX (1024 * 1024)
#define NOTES_MAX	  (64 * 1024)	/* in one piece */
#define NOTES_BYTES_MAX	  (1024 * 1024) /* in all, until the build id is found */

static void end_elf(Elf **elf)
{
	elf_end(*elf);
}

uint64_t elf_code_bytes(const struct elf_image *image)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < image->segments_count; i++)
		bytes = image->segments[i].file_bytes > bytes ? image->segments[i].file_bytes
							      : bytes;
	return bytes;
}

bool elf_segment_offset(const struct elf_segment *segments, size_t count, uint64_t address,
			uint64_t *offset)
{
	for (size_t i = 0; i < count; i++) {
		if (address - segments[i].address < segments[i].file_bytes) {
			*offset = address - segments[i].address + segments[i].file_offset;
			return true;
		}
	}
	return false;
}

bool elf_offset_of(const struct elf_image *image, uint64_t address, uint64_t *offset)
{
	return elf_segment_offset(image->segments, image->segments_count, address, offset) ||
	       elf_segment_offset(image->data, image->data_count, address, offset);
}

int elf_pread(int fd, void *to, size_t bytes, uint64_t offset)
{
	char *at = to;

	while (bytes) {
		ssize_t n = pread(fd, at, bytes, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EIO;
		at += n;
		bytes -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

static bool extent_fits(const struct elf_image *image, uint64_t offset, uint64_t bytes)
{
	return offset <= image->file_bytes && bytes <= image->file_bytes - offset;
}

/*
 * A copy of the file's header and of both tables of headers, which is all that libelf sees. libelf
 * allocates memory for as many sections as a file claims, and the file may change before libelf
 * reads it. The sections' content is read from the file.
 */
struct headers {
	char *copy;
	char *names; /* the sections' names, with a NUL at the end; NULL: unknown */
	size_t bytes, names_bytes;
	uint64_t notes_left; /* how many bytes of notes may still be read */
};

static void free_headers(struct headers *headers)
{
	free(headers->copy);
	free(headers->names);
}

/* Offsets and counts of both tables of headers; 64 bits for both ELF classes. */
struct header_tables {
	uint64_t segments_at, sections_at, segments, sections;
};

union header {
	unsigned char ident[EI_NIDENT];
	Elf32_Ehdr narrow;
	Elf64_Ehdr wide;
};

static size_t header_bytes(const struct elf_image *image)
{
	return image->wide ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
}

static size_t segment_bytes(const struct elf_image *image)
{
	return image->wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
}

static size_t section_bytes(const struct elf_image *image)
{
	return image->wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
}

/* If there are more sections than e_shnum can hold, the first section's size is their number. */
static int count_sections(int fd, const struct elf_image *image, struct header_tables *tables)
{
	union {
		Elf32_Shdr narrow;
		Elf64_Shdr wide;
	} first;

	if (!tables->sections && tables->sections_at) {
		if (elf_pread(fd, &first, section_bytes(image), tables->sections_at) < 0)
			return -EBADMSG;
		tables->sections = image->wide ? first.wide.sh_size : first.narrow.sh_size;
	}
	return tables->sections > SECTIONS_MAX ? -EBADMSG : 0;
}

static int read_header(int fd, struct elf_image *image, union header *header,
		       struct header_tables *tables)
{
	*header = (union header){0};
	if (image->file_bytes < sizeof(header->narrow) ||
	    elf_pread(fd, header,
		      image->file_bytes < sizeof(*header) ? sizeof(header->narrow)
							  : sizeof(*header),
		      0) < 0)
		return -ENOEXEC;
	image->wide = header->ident[EI_CLASS] == ELFCLASS64;
	if (memcmp(header->ident, ELFMAG, SELFMAG) != 0 || header->ident[EI_DATA] != ELFDATA2LSB ||
	    image->file_bytes < header_bytes(image))
		return -ENOEXEC;
	image->machine = header->narrow.e_machine;	    /* stands at the same place in both */
	image->is_fixed = header->narrow.e_type == ET_EXEC; /* as this does */
	image->entry = image->wide ? header->wide.e_entry : header->narrow.e_entry;
	*tables = image->wide
			  ? (struct header_tables){header->wide.e_phoff, header->wide.e_shoff,
						   header->wide.e_phnum, header->wide.e_shnum}
			  : (struct header_tables){header->narrow.e_phoff, header->narrow.e_shoff,
						   header->narrow.e_phnum, header->narrow.e_shnum};
	if (tables->segments == PN_XNUM)
		return -EBADMSG;
	return count_sections(fd, image, tables);
}

/* The tables stand behind the header in the copy. */
static void place_tables(const struct elf_image *image, union header *header,
			 const struct header_tables *tables)
{
	uint64_t segments_at = header_bytes(image);
	uint64_t sections_at = segments_at + tables->segments * segment_bytes(image);

	if (image->wide) {
		header->wide.e_phoff = tables->segments ? segments_at : 0;
		header->wide.e_phnum = (Elf64_Half)tables->segments;
		header->wide.e_shoff = tables->sections ? sections_at : 0;
		header->wide.e_shnum = (Elf64_Half)tables->sections;
	} else {
		header->narrow.e_phoff = tables->segments ? (Elf32_Off)segments_at : 0;
		header->narrow.e_phnum = (Elf32_Half)tables->segments;
		header->narrow.e_shoff = tables->sections ? (Elf32_Off)sections_at : 0;
		header->narrow.e_shnum = (Elf32_Half)tables->sections;
	}
}

/* Copies the headers; a table that doesn't lie in the file counts as empty. */
static int copy_headers(int fd, struct elf_image *image, struct headers *headers)
{
	union header header;
	struct header_tables tables;
	int r = read_header(fd, image, &header, &tables);

	if (r < 0)
		return r;
	uint64_t segments = tables.segments * segment_bytes(image);
	uint64_t sections = tables.sections * section_bytes(image);
	if (!extent_fits(image, tables.segments_at, segments))
		tables.segments = segments = 0;
	if (!extent_fits(image, tables.sections_at, sections))
		tables.sections = sections = 0;
	size_t head = header_bytes(image);
	headers->bytes = head + segments + sections;
	headers->copy = malloc(headers->bytes);
	if (!headers->copy)
		return -ENOMEM;
	place_tables(image, &header, &tables);
	memcpy(headers->copy, &header, head);
	r = elf_pread(fd, headers->copy + head, segments, tables.segments_at);
	if (r == 0)
		r = elf_pread(fd, headers->copy + head + segments, sections, tables.sections_at);
	return r;
}

/* Reads the sections' names; if they lie outside the file there are none. Returns 0, -ENOMEM, or
 * the errno of reading. */
static int read_names(int fd, Elf *elf, const struct elf_image *image, struct headers *headers)
{
	size_t at = 0;
	GElf_Shdr section;
	Elf_Scn *found = elf_getshdrstrndx(elf, &at) == 0 ? elf_getscn(elf, at) : NULL;

	/* Compressed names would have to be inflated. */
	if (!found || !gelf_getshdr(found, &section) || section.sh_size > SECTION_NAMES_MAX ||
	    section.sh_flags & SHF_COMPRESSED ||
	    !extent_fits(image, section.sh_offset, section.sh_size))
		return 0;
	_cleanup_free_ char *names = calloc(1, section.sh_size + 1);
	if (!names)
		return -ENOMEM;
	int r = elf_pread(fd, names, section.sh_size, section.sh_offset);
	if (r < 0)
		return r;
	headers->names = TAKE_PTR(names);
	headers->names_bytes = section.sh_size;
	return 0;
}

/* Notes are {name size, descriptor size, type, name, descriptor}, each padded to 4 bytes. */
static void read_build_id(int fd, struct elf_image *image, struct headers *headers, uint64_t offset,
			  uint64_t bytes)
{
	_cleanup_free_ char *notes = NULL;

	if (image->build_id_bytes || bytes > NOTES_MAX || bytes > headers->notes_left ||
	    !extent_fits(image, offset, bytes))
		return;
	headers->notes_left -= bytes;
	notes = malloc(bytes ? bytes : 1);
	if (!notes || elf_pread(fd, notes, bytes, offset) < 0)
		return;
	for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= bytes;) {
		Elf64_Nhdr note; /* the same in both classes */

		memcpy(&note, notes + at, sizeof(note));
		size_t name = at + sizeof(note);
		size_t descriptor = name + (((size_t)note.n_namesz + 3) & ~(size_t)3);
		if (descriptor > bytes || note.n_descsz > bytes - descriptor)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    memcmp(notes + name, "GNU", 4) == 0 && note.n_descsz <= BUILD_ID_MAX) {
			memcpy(image->build_id, notes + descriptor, note.n_descsz);
			image->build_id_bytes = note.n_descsz;
			return;
		}
		at = descriptor + (((size_t)note.n_descsz + 3) & ~(size_t)3);
	}
}

static void read_segments(int fd, Elf *elf, struct elf_image *image, struct headers *headers)
{
	size_t count = 0;

	if (elf_getphdrnum(elf, &count) < 0)
		return;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr segment;

		if (!gelf_getphdr(elf, (int)i, &segment))
			return;
		if (segment.p_type == PT_NOTE)
			read_build_id(fd, image, headers, segment.p_offset, segment.p_filesz);
		if (!extent_fits(image, segment.p_offset, segment.p_filesz))
			continue;
		if (segment.p_type == PT_GNU_EH_FRAME) {
			image->eh_frame_hdr =
				(struct elf_extent){segment.p_offset, segment.p_filesz};
			image->eh_frame_hdr_address = segment.p_vaddr;
		}
		if (segment.p_type == PT_DYNAMIC)
			image->dynamic = (struct elf_extent){segment.p_offset, segment.p_filesz};
		if (segment.p_type == PT_LOAD && !(segment.p_flags & PF_X) &&
		    image->data_count < ELF_SEGMENTS_MAX)
			image->data[image->data_count++] = (struct elf_segment){
				segment.p_offset, segment.p_filesz, segment.p_vaddr};
		if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) &&
		    image->segments_count < ELF_SEGMENTS_MAX)
			image->segments[image->segments_count++] = (struct elf_segment){
				segment.p_offset, segment.p_filesz, segment.p_vaddr};
	}
}

static void take_symbols(Elf *elf, struct elf_image *image, const GElf_Shdr *section)
{
	struct elf_symbols *to = section->sh_type == SHT_SYMTAB ? &image->symtab : &image->dynsym;
	Elf_Scn *strings_section = elf_getscn(elf, section->sh_link);
	GElf_Shdr strings;

	if (!strings_section || !gelf_getshdr(strings_section, &strings) ||
	    strings.sh_type != SHT_STRTAB)
		return;
	if (!extent_fits(image, section->sh_offset, section->sh_size) ||
	    !extent_fits(image, strings.sh_offset, strings.sh_size))
		return;
	to->symbols = (struct elf_extent){section->sh_offset, section->sh_size};
	to->strings = (struct elf_extent){strings.sh_offset, strings.sh_size};
}

/* .gnu_debuglink: a file name with its NUL, padded to 4 bytes, then a CRC. */
static void read_debuglink(int fd, struct elf_image *image, const GElf_Shdr *section)
{
	char content[sizeof(image->debuglink) + 8] = {0};

	if (section->sh_size > sizeof(content) || section->sh_size < 8 ||
	    !extent_fits(image, section->sh_offset, section->sh_size) ||
	    elf_pread(fd, content, section->sh_size, section->sh_offset) < 0)
		return;
	size_t len = strnlen(content, section->sh_size - 4);
	size_t crc_at = (len + 4) & ~(size_t)3;
	if (len == 0 || len >= sizeof(image->debuglink) || crc_at + 4 > section->sh_size ||
	    memchr(content, '/', len))
		return;
	memcpy(image->debuglink, content, len + 1);
	memcpy(&image->debuglink_crc, content + crc_at, 4);
}

static void take_named(int fd, struct elf_image *image, const char *name, const GElf_Shdr *section)
{
	struct elf_frames *frames = &image->frames;
	struct elf_extent extent = {section->sh_offset, section->sh_size};

	if (!extent_fits(image, extent.offset, extent.bytes))
		return;
	if (strcmp(name, ".gnu_debuglink") == 0) {
		read_debuglink(fd, image, section);
	} else if (strcmp(name, ".eh_frame") == 0 && !(section->sh_flags & SHF_COMPRESSED)) {
		frames->eh_frame = extent;
		frames->eh_frame_address = section->sh_addr;
	} else if (strcmp(name, ".debug_info") == 0 || strcmp(name, ".zdebug_info") == 0) {
		image->has_debug_info = true;
	} else if (strcmp(name, ".debug_frame") == 0) {
		frames->debug_frame = extent;
		frames->debug_frame_deflated = section->sh_flags & SHF_COMPRESSED;
	} else if (strcmp(name, ".text") == 0) {
		frames->text_address = section->sh_addr;
	} else if (strcmp(name, ".got.plt") == 0 ||
		   (strcmp(name, ".got") == 0 && !frames->got_address)) {
		frames->got_address = section->sh_addr;
	} else if (strcmp(name, ".gopclntab") == 0 || strcmp(name, ".data.rel.ro.gopclntab") == 0) {
		image->gopclntab = extent;
	} else if (strcmp(name, ".go.buildinfo") == 0) {
		image->is_go = true;
	} else if (strcmp(name, ".gnu_debugdata") == 0) {
		image->gnu_debugdata = extent;
	} else if (strcmp(name, ".stapsdt.base") == 0) {
		image->stapsdt_base = section->sh_addr;
	} else if (strcmp(name, ".gnu_debugaltlink") == 0) {
		image->debugaltlink = extent;
	}
}

static const char *name_of(const struct headers *headers, const GElf_Shdr *section)
{
	return section->sh_name < headers->names_bytes ? headers->names + section->sh_name : "";
}

static void take_notes(int fd, struct elf_image *image, struct headers *headers,
		       const GElf_Shdr *section)
{
	if (strcmp(name_of(headers, section), ".note.stapsdt") != 0)
		read_build_id(fd, image, headers, section->sh_offset, section->sh_size);
	else if (extent_fits(image, section->sh_offset, section->sh_size))
		image->stapsdt = (struct elf_extent){section->sh_offset, section->sh_size};
}

static int read_sections(int fd, Elf *elf, struct elf_image *image, struct headers *headers)
{
	GElf_Shdr section;

	int r = read_names(fd, elf, image, headers);
	if (r < 0)
		return r;
	for (Elf_Scn *at = NULL; (at = elf_nextscn(elf, at));) {
		if (!gelf_getshdr(at, &section))
			continue;
		if (section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM)
			take_symbols(elf, image, &section);
		else if (section.sh_type == SHT_NOTE)
			take_notes(fd, image, headers, &section);
		image->has_sections = true;
		if (section.sh_type == SHT_PROGBITS || section.sh_type == SHT_X86_64_UNWIND)
			take_named(fd, image, name_of(headers, &section), &section);
	}
	return 0;
}

/* Reads the address of .eh_frame from .eh_frame_hdr: {version 1, encodings of pointers, address}.
 */
static bool read_eh_frame_address(int fd, const struct elf_image *image, uint64_t *address)
{
	struct {
		uint8_t version, encoding, count_encoding, table_encoding;
		uint8_t pointer[8];
	} head;
	int32_t narrow;

	if (image->eh_frame_hdr.bytes < sizeof(head) ||
	    elf_pread(fd, &head, sizeof(head), image->eh_frame_hdr.offset) < 0 || head.version != 1)
		return false;
	memcpy(&narrow, head.pointer, sizeof(narrow));
	switch (head.encoding & 0x0f) { /* LSB 5.0 core, 10.5 */
	case 0x03:			/* udata4 */
		*address = (uint32_t)narrow;
		break;
	case 0x0b: /* sdata4 */
		*address = (uint64_t)(int64_t)narrow;
		break;
	case 0x00: /* absptr, udata8, sdata8 */
	case 0x04:
	case 0x0c:
		memcpy(address, head.pointer, sizeof(*address));
		break;
	default:
		return false;
	}
	switch (head.encoding & 0xf0) {
	case 0x00:
		return true;
	case 0x10: /* from the pointer's own place */
		*address += image->eh_frame_hdr_address + 4;
		return true;
	case 0x30: /* from .eh_frame_hdr */
		*address += image->eh_frame_hdr_address;
		return true;
	default:
		return false;
	}
}

/* Finds .eh_frame without section headers: from where .eh_frame_hdr points to the segment's end. */
static void find_eh_frame(int fd, Elf *elf, struct elf_image *image)
{
	struct elf_frames *frames = &image->frames;
	uint64_t address;
	size_t count = 0;
	GElf_Phdr segment;

	if (frames->eh_frame.bytes || !read_eh_frame_address(fd, image, &address) ||
	    elf_getphdrnum(elf, &count) < 0)
		return;
	for (size_t i = 0; i < count && gelf_getphdr(elf, (int)i, &segment); i++) {
		uint64_t skip = address - segment.p_vaddr;

		if (segment.p_type != PT_LOAD || skip >= segment.p_filesz ||
		    !extent_fits(image, segment.p_offset, segment.p_filesz))
			continue;
		frames->eh_frame =
			(struct elf_extent){segment.p_offset + skip, segment.p_filesz - skip};
		frames->eh_frame_address = address;
		frames->eh_frame_open = true;
		return;
	}
}

int elf_read(int fd, struct elf_image *image)
{
	_cleanup_(free_headers) struct headers headers = {.notes_left = NOTES_BYTES_MAX};
	struct stat stat;

	*image = (struct elf_image){0};
	if (fstat(fd, &stat) < 0)
		return -errno;
	if (!S_ISREG(stat.st_mode) || stat.st_size < EI_NIDENT)
		return -ENOEXEC;
	image->file_bytes = (uint64_t)stat.st_size;
	int r = copy_headers(fd, image, &headers);
	if (r < 0)
		return r;
	elf_version(EV_CURRENT);
	_cleanup_(end_elf) Elf *elf = elf_memory(headers.copy, headers.bytes);
	if (!elf || elf_kind(elf) != ELF_K_ELF)
		return -EBADMSG;
	read_segments(fd, elf, image, &headers);
	r = read_sections(fd, elf, image, &headers);
	if (r == 0)
		find_eh_frame(fd, elf, image);
	return r;
}

bool elf_address_of(const struct elf_segment *segments, size_t count, uint64_t file_offset,
		    uint64_t *address)
{
	for (size_t i = 0; i < count; i++) {
		if (file_offset - segments[i].file_offset < segments[i].file_bytes) {
			*address = file_offset - segments[i].file_offset + segments[i].address;
			return true;
		}
	}
	return false;
}
