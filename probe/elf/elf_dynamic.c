// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/elf_dynamic.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define TAGS_MAX    4096u
#define SYMBOLS_MAX (4u * 1024 * 1024)
#define CHAIN_MAX   4096u /* symbols of one bucket */
#define WINDOW	    65536
#define WORD	    8

/* Finds [address, address + bytes) in the file; bytes = 0: up to the segment's end. Returns an
 * empty extent if it doesn't lie in one segment. */
static struct elf_extent extent_at(const struct elf_image *image, uint64_t address, uint64_t bytes)
{
	const struct {
		const struct elf_segment *each;
		size_t count;
	} lists[] = {{image->data, image->data_count}, {image->segments, image->segments_count}};

	for (size_t list = 0; list < 2; list++) {
		for (size_t i = 0; i < lists[list].count; i++) {
			const struct elf_segment *segment = &lists[list].each[i];
			uint64_t skip = address - segment->address;

			if (skip < segment->file_bytes && bytes <= segment->file_bytes - skip)
				return (struct elf_extent){segment->file_offset + skip,
							   bytes ? bytes
								 : segment->file_bytes - skip};
		}
	}
	return (struct elf_extent){0};
}

/* ---- tags ---- */

/* Addresses and sizes, by tag. */
struct tags {
	uint64_t of[DT_RELR + 1];
	uint64_t gnu_hash;
};

static int read_tags(int fd, const struct elf_image *image, struct tags *tags)
{
	uint64_t count = image->dynamic.bytes / sizeof(Elf64_Dyn);
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < count && i < TAGS_MAX; i++) {
		Elf64_Dyn tag;

		r = elf_pread(fd, &tag, sizeof(tag), image->dynamic.offset + i * sizeof(tag));
		if (r < 0 || tag.d_tag == DT_NULL)
			break;
		if (tag.d_tag > 0 && tag.d_tag <= DT_RELR)
			tags->of[tag.d_tag] = tag.d_un.d_val;
		else if (tag.d_tag == DT_GNU_HASH)
			tags->gnu_hash = tag.d_un.d_val;
	}
	return r;
}

/* DT_HASH: {buckets, chains, …}; there are as many chains as symbols. */
static uint64_t count_by_hash(int fd, const struct elf_image *image, uint64_t address)
{
	uint32_t head[2];
	struct elf_extent table = extent_at(image, address, sizeof(head));

	return table.bytes && elf_pread(fd, head, sizeof(head), table.offset) == 0 ? head[1] : 0;
}

/* DT_GNU_HASH: {buckets, first symbol, words of the filter, shift}, the filter, for each bucket its
 * first symbol, for each symbol from the first on its hash, whose lowest bit ends a bucket. The
 * last symbol ends the bucket that begins last. */
static uint64_t count_by_gnu_hash(int fd, const struct elf_image *image, uint64_t address)
{
	struct {
		uint32_t buckets, first, filter_words, shift;
	} head;
	struct elf_extent table = extent_at(image, address, 0);
	uint64_t last = 0, at = table.offset + sizeof(head), end = table.offset + table.bytes;
	uint32_t word = 0;

	if (table.bytes < sizeof(head) || elf_pread(fd, &head, sizeof(head), table.offset) < 0 ||
	    head.buckets > SYMBOLS_MAX || head.filter_words > SYMBOLS_MAX)
		return 0;
	at += (uint64_t)head.filter_words * WORD;
	if (at + (uint64_t)head.buckets * sizeof(word) > end)
		return 0;
	_cleanup_free_ uint32_t *buckets = calloc(head.buckets + 1, sizeof(*buckets));
	if (!buckets || elf_pread(fd, buckets, head.buckets * sizeof(*buckets), at) < 0)
		return 0;
	for (uint32_t i = 0; i < head.buckets; i++) {
		if (buckets[i] > last)
			last = buckets[i];
	}
	if (last < head.first)
		return head.first;
	at += (uint64_t)head.buckets * sizeof(word) + (last - head.first) * sizeof(word);
	for (unsigned i = 0; i < CHAIN_MAX && at + sizeof(word) <= end && last < SYMBOLS_MAX;
	     i++, last++, at += sizeof(word)) {
		if (elf_pread(fd, &word, sizeof(word), at) < 0)
			return 0;
		if (word & 1)
			return last + 1;
	}
	return 0;
}

static void find_symbols(int fd, const struct elf_image *image, const struct tags *tags,
			 struct elf_symbols *symbols)
{
	uint64_t count = 0;

	if (!tags->of[DT_SYMTAB] || !tags->of[DT_STRTAB] || !tags->of[DT_STRSZ])
		return;
	if (tags->of[DT_HASH])
		count = count_by_hash(fd, image, tags->of[DT_HASH]);
	if (!count && tags->gnu_hash)
		count = count_by_gnu_hash(fd, image, tags->gnu_hash);
	if (!count || count > SYMBOLS_MAX)
		return;
	symbols->symbols = extent_at(image, tags->of[DT_SYMTAB], count * sizeof(Elf64_Sym));
	symbols->strings = extent_at(image, tags->of[DT_STRTAB], tags->of[DT_STRSZ]);
	if (!symbols->strings.bytes)
		*symbols = (struct elf_symbols){0};
}

int elf_dynamic_read(int fd, const struct elf_image *image, struct elf_dynamic *dynamic)
{
	struct tags tags = {0};

	*dynamic = (struct elf_dynamic){0};
	if (!image->wide || !image->dynamic.bytes)
		return -ENOENT;
	int r = read_tags(fd, image, &tags);
	if (r < 0)
		return r;
	if (tags.of[DT_RELASZ])
		dynamic->rela = extent_at(image, tags.of[DT_RELA], tags.of[DT_RELASZ]);
	if (tags.of[DT_RELRSZ])
		dynamic->relr = extent_at(image, tags.of[DT_RELR], tags.of[DT_RELRSZ]);
	find_symbols(fd, image, &tags, &dynamic->symbols);
	return 0;
}

/* ---- words ---- */

/* A window on the file, for reads that mostly go forward. */
struct words {
	int fd;
	const struct elf_image *image;
	int (*sink)(void *arg, uint64_t address);
	void *arg;
	uint8_t *bytes; /* WINDOW */
	uint64_t from;	/* offset in the file */
	size_t count;
	uint64_t end_ns;
};

static int word_at(struct words *words, uint64_t offset, uint64_t end, uint64_t *word)
{
	if (offset < words->from || offset + WORD > words->from + words->count) {
		size_t count = end - offset < WINDOW ? (size_t)(end - offset) : WINDOW;
		int r = words->end_ns && clock_ns(CLOCK_THREAD_CPUTIME_ID) > words->end_ns
				? -ETIME
				: elf_pread(words->fd, words->bytes, count, offset);

		words->from = offset;
		words->count = r < 0 ? 0 : count;
		if (r < 0)
			return r;
	}
	memcpy(word, words->bytes + (offset - words->from), WORD);
	return 0;
}

static int scan_data(struct words *words)
{
	const struct elf_image *image = words->image;
	int r = 0;

	for (size_t i = 0; r == 0 && i < image->data_count; i++) {
		const struct elf_segment *segment = &image->data[i];
		uint64_t at = segment->file_offset + (-segment->address & (WORD - 1));
		uint64_t end = segment->file_offset + segment->file_bytes;

		for (uint64_t word; r == 0 && at + WORD <= end; at += WORD) {
			r = word_at(words, at, end, &word);
			if (r == 0)
				r = words->sink(words->arg, word);
		}
	}
	return r;
}

static bool is_relative(const struct elf_image *image, uint64_t info)
{
	uint32_t type = ELF64_R_TYPE(info);

	return image->machine == EM_AARCH64 ? type == R_AARCH64_RELATIVE
					    : type == R_X86_64_RELATIVE;
}

static int scan_rela(struct words *words, const struct elf_extent *rela)
{
	uint64_t end = rela->offset + rela->bytes;
	int r = 0;

	for (uint64_t at = rela->offset; r == 0 && at + sizeof(Elf64_Rela) <= end;
	     at += sizeof(Elf64_Rela)) {
		uint64_t info, addend;

		r = word_at(words, at + offsetof(Elf64_Rela, r_info), end, &info);
		if (r == 0)
			r = word_at(words, at + offsetof(Elf64_Rela, r_addend), end, &addend);
		if (r == 0 && is_relative(words->image, info))
			r = words->sink(words->arg, addend);
	}
	return r;
}

/* The word at a linked address is one that is relocated. */
static int take_relocated(struct words *data, uint64_t address)
{
	struct elf_extent rest = extent_at(data->image, address, 0);
	uint64_t word;

	if (rest.bytes < WORD)
		return 0;
	int r = word_at(data, rest.offset, rest.offset + rest.bytes, &word);
	return r ? r : data->sink(data->arg, word);
}

/* An even entry is the address of a word to relocate; an odd one has a bit for each of the 63 words
 * that follow. */
static int scan_relr(struct words *words, struct words *data, const struct elf_extent *relr)
{
	uint64_t end = relr->offset + relr->bytes, next = 0;
	int r = 0;

	for (uint64_t at = relr->offset; r == 0 && at + WORD <= end; at += WORD) {
		uint64_t entry;

		r = word_at(words, at, end, &entry);
		if (r == 0 && !(entry & 1)) {
			r = take_relocated(data, entry);
			next = entry + WORD;
			continue;
		}
		for (unsigned bit = 1; r == 0 && bit < 64; bit++) {
			if (entry >> bit & 1)
				r = take_relocated(data, next + (bit - 1) * WORD);
		}
		next += (uint64_t)63 * WORD;
	}
	return r;
}

int elf_pointers_scan(int fd, const struct elf_image *image,
		      int (*sink)(void *arg, uint64_t address), void *arg, uint64_t end_ns)
{
	_cleanup_free_ uint8_t *bytes = malloc(2 * WINDOW);
	struct words words = {.fd = fd,
			      .image = image,
			      .sink = sink,
			      .arg = arg,
			      .bytes = bytes,
			      .end_ns = end_ns};
	struct words data = words;
	struct elf_dynamic dynamic;

	if (!bytes)
		return -ENOMEM;
	data.bytes = bytes + WINDOW;
	if (!image->wide)
		return 0;
	int r = image->is_fixed ? scan_data(&words) : 0;
	if (r == 0 && elf_dynamic_read(fd, image, &dynamic) == 0) {
		r = scan_rela(&words, &dynamic.rela);
		if (r == 0)
			r = scan_relr(&words, &data, &dynamic.relr);
	}
	return r;
}
