// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi/cfi_section.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/cleanup.h"

#define WINDOW	     (64u * 1024)
#define INFLATED_MAX (CFI_BYTES_MAX / 4) /* lower, as a small file may claim a large size */

/* A 32-bit length of this value: the length follows in 64 bits. */
#define LENGTH_64 0xffffffffu

void cfi_section_done(struct cfi_section *section)
{
	free(section->bytes);
	section->bytes = NULL;
	section->count = 0;
}

static int read_plain(struct cfi_section *section, int fd, const struct elf_extent *extent)
{
	if (extent->bytes > CFI_BYTES_MAX)
		return -EFBIG;
	section->bytes = malloc(extent->bytes);
	if (!section->bytes)
		return -ENOMEM;
	section->count = extent->bytes;
	return elf_pread(fd, section->bytes, section->count, extent->offset);
}

/* Finds the section's end where no section header tells it: at the first empty entry, or where an
 * entry's length doesn't fit any more. */
static int find_end(int fd, struct elf_extent *extent)
{
	_cleanup_free_ uint8_t *window = malloc(WINDOW);
	uint64_t at = 0, from = 0, have = 0;

	if (!window)
		return -ENOMEM;
	while (extent->bytes - at >= 4 && at <= CFI_BYTES_MAX) {
		uint32_t length;

		if (at + 4 > from + have) {
			from = at;
			have = extent->bytes - at < WINDOW ? extent->bytes - at : WINDOW;
			int r = elf_pread(fd, window, have, extent->offset + from);
			if (r < 0)
				return r;
		}
		memcpy(&length, window + (at - from), sizeof(length));
		if (length == 0 || length >= LENGTH_64 || length > extent->bytes - at - 4)
			break;
		at += 4 + (uint64_t)length;
	}
	extent->bytes = at;
	return 0;
}

static int inflate_into(z_stream *stream, int fd, uint64_t offset, uint64_t bytes)
{
	_cleanup_free_ uint8_t *window = malloc(WINDOW);
	int status = Z_OK;

	if (!window)
		return -ENOMEM;
	while (bytes && status == Z_OK && stream->avail_out) {
		size_t n = bytes < WINDOW ? (size_t)bytes : WINDOW;
		int r = elf_pread(fd, window, n, offset);

		if (r < 0)
			return r;
		stream->next_in = window;
		stream->avail_in = (unsigned)n;
		status = inflate(stream, Z_NO_FLUSH);
		offset += n;
		bytes -= n;
	}
	return status == Z_OK || status == Z_STREAM_END ? 0 : -EBADMSG;
}

/* Reads the head of a compressed section. Returns its bytes, or a negative errno. */
static int read_head(int fd, const struct elf_extent *extent, bool wide, Elf64_Chdr *head)
{
	size_t bytes = wide ? sizeof(*head) : sizeof(Elf32_Chdr);
	Elf32_Chdr narrow;

	if (extent->bytes < bytes)
		return -EBADMSG;
	int r = elf_pread(fd, wide ? (void *)head : &narrow, bytes, extent->offset);
	if (r == 0 && !wide)
		*head = (Elf64_Chdr){.ch_type = narrow.ch_type, .ch_size = narrow.ch_size};
	return r < 0 ? r : (int)bytes;
}

static int read_deflated(struct cfi_section *section, int fd, const struct elf_extent *extent,
			 bool wide)
{
	z_stream stream = {0};
	Elf64_Chdr head = {0};
	int r = read_head(fd, extent, wide, &head);

	if (r < 0)
		return r;
	uint64_t from = (uint64_t)r;
	if (head.ch_type != ELFCOMPRESS_ZLIB || !head.ch_size)
		return -EBADMSG;
	if (head.ch_size > INFLATED_MAX || extent->bytes > CFI_BYTES_MAX)
		return -EFBIG;
	section->bytes = malloc(head.ch_size);
	if (!section->bytes || inflateInit(&stream) != Z_OK)
		return -ENOMEM;
	stream.next_out = section->bytes;
	stream.avail_out = (unsigned)head.ch_size;
	r = inflate_into(&stream, fd, extent->offset + from, extent->bytes - from);
	section->count = stream.total_out;
	inflateEnd(&stream);
	return r;
}

int cfi_section_read(struct cfi_section *section, int fd, const struct elf_image *image, bool debug)
{
	const struct elf_frames *frames = &image->frames;
	struct elf_extent extent = debug ? frames->debug_frame : frames->eh_frame;
	int r = 0;

	*section = (struct cfi_section){.debug = debug};
	if (!debug && frames->eh_frame_open)
		r = find_end(fd, &extent);
	if (r < 0)
		return r;
	if (!extent.bytes)
		return -ENOENT;
	r = debug && frames->debug_frame_deflated ? read_deflated(section, fd, &extent, image->wide)
						  : read_plain(section, fd, &extent);
	if (r < 0) {
		cfi_section_done(section);
		return r;
	}
	section->bases = (struct dwarf_bases){
		.section = section->bytes,
		.section_address = debug ? 0 : frames->eh_frame_address,
		.text = frames->text_address,
		.data = frames->got_address,
	};
	return 0;
}

/* Reads an entry's second field, which tells a CIE from an FDE: 0 or the distance to the CIE in
 * .eh_frame, all ones or the CIE's offset in .debug_frame. */
static void read_id(const struct cfi_section *section, bool wide, struct cfi_entry *entry)
{
	uint64_t at = (uint64_t)(entry->body.at - section->bytes), id;

	if (!section->debug) {
		id = dwarf_u32(&entry->body);
		entry->is_cie = id == 0;
		entry->cie = at - id;
	} else {
		id = wide ? dwarf_u64(&entry->body) : dwarf_u32(&entry->body);
		entry->is_cie = id == (wide ? UINT64_MAX : UINT32_MAX);
		entry->cie = id;
	}
}

/* Reads the entry that begins at *offset and moves *offset behind that entry; entry->body.failed is
 * set if the entry is empty. Returns false if no entry fits there. */
static bool read_entry(const struct cfi_section *section, size_t *offset, struct cfi_entry *entry)
{
	struct dwarf_reader reader = {section->bytes + *offset, section->bytes + section->count,
				      false};
	uint64_t length = dwarf_u32(&reader);
	bool wide = length == LENGTH_64;

	if (wide)
		length = dwarf_u64(&reader);
	if (reader.failed || length > dwarf_left(&reader))
		return false;
	*entry = (struct cfi_entry){.offset = (uint32_t)*offset};
	entry->body = (struct dwarf_reader){reader.at, reader.at + length, false};
	*offset = (size_t)(reader.at + length - section->bytes);
	read_id(section, wide, entry);
	return true;
}

bool cfi_section_at(const struct cfi_section *section, size_t offset, struct cfi_entry *entry)
{
	return offset < section->count && read_entry(section, &offset, entry) &&
	       !entry->body.failed;
}

bool cfi_section_next(const struct cfi_section *section, size_t *offset, struct cfi_entry *entry)
{
	while (read_entry(section, offset, entry)) {
		if (!entry->body.failed)
			return true;
	}
	return false;
}
