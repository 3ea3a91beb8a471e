// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/native.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "proc/elf.h"
#include "proc/pclntab.h"
#include "elf/minidebug.h"
#include "elf/address_search.h"
#include "elf/code_refs.h"
#include "elf/code_starts.h"
#include "elf/elf_dynamic.h"

#define SYMBOLS_MAX (4u * 1024 * 1024)
#define NAME_MAX_   65535
#define BATCH	    1024
#define PIECE_MAX   16384 /* offsets that are resolved at a time: 2 MB */
#define WINDOW	    4096
#define CODE_MAX_NS (2 * NS_PER_S) /* CPU time for reading code: Chromium's takes half of it */
/* Bound of the reads of a string table's window. A file made with all symbols at one address takes
 * 2 s for these; real files need a few reads for each function asked for. */
#define WINDOWS_MAX (1u << 20)

/* A string table, read through a window. */
struct strings {
	int fd;
	struct elf_extent extent;
	uint64_t at; /* the window's offset in the table */
	size_t len;
	uint32_t reads; /* times that the window was read */
	char window[WINDOW];
};

/* .symtab, .dynsym, the debug file's .symtab, Go's functions. A name is kept as its table and its
 * offset there. */
enum { TABLE_SYMTAB, TABLE_DYNSYM, TABLE_DEBUG, TABLE_GO, TABLES };

#define TABLE_SHIFT 60

struct resolver {
	int fd;
	int debug_fd; /* -1: none */
	int mini_fd;  /* the debug file inside the file, unpacked; -1: none */
	struct elf_image image, debug;
	struct pclntab *go; /* NULL: none, or not needed */
	struct strings strings[TABLES];
	uint64_t base;	 /* lowest linked address of executable code */
	bool with_code;	 /* begins of functions are looked for in the code, too */
	uint64_t end_ns; /* until then, of the thread's CPU time */
	struct address_search *search;
	struct buf *names;
};

static void resolver_free(struct resolver **resolver)
{
	if (!*resolver)
		return;
	address_search_free((*resolver)->search);
	pclntab_free((*resolver)->go);
	cleanup_close(&(*resolver)->mini_fd);
	free(*resolver);
}

static bool is_code(const struct resolver *resolver, uint64_t address)
{
	const struct elf_image *image = &resolver->image;

	for (size_t i = 0; i < image->segments_count; i++) {
		if (address - image->segments[i].address < image->segments[i].file_bytes)
			return address - resolver->base < UINT32_MAX;
	}
	return false;
}

/* Returns the string at `offset` as far as the window holds it, *len >= 1 bytes; NULL if it can't
 * be read. */
static const char *strings_at(struct strings *strings, uint64_t offset, size_t *len)
{
	uint64_t left = strings->extent.bytes - offset;

	if (offset >= strings->extent.bytes)
		return NULL;
	if (offset - strings->at >= strings->len ||
	    (strings->len - (offset - strings->at) < 2 && left > 1)) {
		strings->len = 0;
		strings->reads++;
		size_t n = left < WINDOW ? (size_t)left : WINDOW;
		if (elf_pread(strings->fd, strings->window, n, strings->extent.offset + offset) < 0)
			return NULL;
		strings->at = offset;
		strings->len = n;
	}
	*len = strings->len - (size_t)(offset - strings->at);
	return strings->window + (offset - strings->at);
}

/* Adds the name at `offset` to `out`, with its NUL; returns false if the name is too long, is
 * empty, or can't be read. */
static bool strings_copy(struct strings *strings, uint64_t offset, struct buf *out)
{
	size_t before = out->len, len;
	const char *text;

	while (out->len - before <= NAME_MAX_ && !buf_error(out) &&
	       (text = strings_at(strings, offset, &len))) {
		size_t part = strnlen(text, len);

		if (part)
			buf_add(out, text, part);
		offset += part;
		if (part < len || offset >= strings->extent.bytes) {
			if (out->len - before > NAME_MAX_ || out->len == before)
				break;
			buf_char(out, '\0');
			return true;
		}
	}
	out->len = before;
	return false;
}

/*
 * Returns a symbol's rank among those at one address: with a size before without, function before
 * untyped label, global before weak before local, fewer leading underscores first. (perf chooses
 * so too, so that both show the same name.)
 */
static uint8_t rank_of(const Elf64_Sym *symbol, const char *name, size_t len)
{
	unsigned binding = ELF64_ST_BIND(symbol->st_info);
	unsigned rank = 0;

	rank |= symbol->st_size ? 1u << 7 : 0;
	rank |= ELF64_ST_TYPE(symbol->st_info) != STT_NOTYPE ? 1u << 6 : 0;
	rank |= binding == STB_GLOBAL ? 2u << 4 : binding == STB_WEAK ? 1u << 4 : 0;
	rank |= name[0] != '_' ? 2u : len < 2 || name[1] != '_' ? 1u : 0;
	return (uint8_t)rank;
}

static void meet_symbol(struct resolver *resolver, const Elf64_Sym *symbol, uint64_t table)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info);
	struct strings *strings = &resolver->strings[table];

	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return;
	if (symbol->st_shndx == SHN_UNDEF || !symbol->st_name ||
	    symbol->st_name >= strings->extent.bytes || !is_code(resolver, symbol->st_value))
		return;
	struct passing passing = {
		.start = (uint32_t)(symbol->st_value - resolver->base),
		.bytes = symbol->st_size < UINT32_MAX ? (uint32_t)symbol->st_size : UINT32_MAX,
		.name = table << TABLE_SHIFT | symbol->st_name,
		.unsure = type == STT_NOTYPE,
	};
	if (!address_search_meet(resolver->search, &passing))
		return;
	size_t len;
	const char *name = strings_at(strings, symbol->st_name, &len);
	/* "$x" and its like mark ranges of code and data, ".L" labels are the compiler's. */
	if (!name || !name[0] || name[0] == '$' || (type == STT_NOTYPE && name[0] == '.'))
		return;
	passing.rank = rank_of(symbol, name, len);
	address_search_take(resolver->search, &passing);
}

static void widen_symbol(Elf64_Sym *to, const Elf32_Sym *from)
{
	*to = (Elf64_Sym){
		.st_name = from->st_name,
		.st_info = from->st_info,
		.st_other = from->st_other,
		.st_shndx = from->st_shndx,
		.st_value = from->st_value,
		.st_size = from->st_size,
	};
}

static int meet_symbols(struct resolver *resolver, int fd, bool wide,
			const struct elf_symbols *from, uint64_t table)
{
	union {
		Elf32_Sym narrow[BATCH];
		Elf64_Sym wide[BATCH];
	} batch;
	size_t each = wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	uint64_t total = from->symbols.bytes / each;
	int r = 0;

	if (total > SYMBOLS_MAX)
		return -EFBIG;
	resolver->strings[table].fd = fd;
	resolver->strings[table].extent = from->strings;
	resolver->strings[table].reads = 0;
	for (uint64_t at = 0; r == 0 && at < total; at += BATCH) {
		size_t n = total - at < BATCH ? (size_t)(total - at) : BATCH;

		r = elf_pread(fd, &batch, n * each, from->symbols.offset + at * each);
		for (size_t i = 0; r == 0 && i < n; i++) {
			Elf64_Sym symbol;

			if (wide)
				symbol = batch.wide[i];
			else
				widen_symbol(&symbol, &batch.narrow[i]);
			meet_symbol(resolver, &symbol, table);
		}
		if (resolver->strings[table].reads > WINDOWS_MAX)
			r = -EFBIG;
	}
	return r;
}

/* Returns a Go function's size without the int3 bytes that fill up to the next function. A signal
 * handler returns to a function's first byte, and the byte before that is looked up. */
static uint32_t go_function_bytes(struct resolver *resolver,
				  const struct pclntab_function *function)
{
	uint64_t bytes = function->end - function->start;
	uint8_t code[64];

	while (bytes > 1) {
		size_t n = bytes < sizeof(code) ? (size_t)bytes : sizeof(code), left = n;

		if (pclntab_code(resolver->go, function->start + bytes - n, code, n) < 0)
			break;
		while (left && code[left - 1] == 0xcc)
			left--;
		bytes -= n - left;
		if (left)
			break;
	}
	return bytes ? (uint32_t)bytes : 1;
}

static void meet_go_functions(struct resolver *resolver)
{
	struct elf_extent names = pclntab_names(resolver->go);
	uint32_t count = pclntab_count(resolver->go);

	resolver->strings[TABLE_GO].fd = resolver->fd;
	resolver->strings[TABLE_GO].extent = names;
	for (uint32_t i = 0; i < count; i++) {
		struct pclntab_function function;

		if (pclntab_function(resolver->go, i, &function) < 0 ||
		    function.name >= names.bytes || !is_code(resolver, function.start))
			continue;
		struct passing passing = {
			.start = (uint32_t)(function.start - resolver->base),
			.bytes = (uint32_t)(function.end - function.start),
			.name = (uint64_t)TABLE_GO << TABLE_SHIFT | function.name,
		};
		if (!address_search_meet(resolver->search, &passing))
			continue;
		passing.bytes = go_function_bytes(resolver, &function);
		if (address_search_meet(resolver->search, &passing))
			address_search_take(resolver->search, &passing);
	}
}

static int search_tables(struct resolver *resolver, const uint32_t *addresses, size_t count)
{
	const struct elf_image *image = &resolver->image;
	int r = meet_symbols(resolver, resolver->fd, image->wide, &image->symtab, TABLE_SYMTAB);

	if (r == 0)
		r = meet_symbols(resolver, resolver->fd, image->wide, &image->dynsym, TABLE_DYNSYM);
	if (r == 0 && resolver->debug_fd >= 0)
		r = meet_symbols(resolver, resolver->debug_fd, resolver->debug.wide,
				 &resolver->debug.symtab, TABLE_DEBUG);
	if (r == 0 && resolver->go)
		meet_go_functions(resolver);
	if (r < 0 || address_search_is_covered(resolver->search))
		return r;
	struct code_starts starts = {
		.fd = resolver->fd,
		.image = image,
		.base = resolver->base,
		.search = resolver->search,
		.addresses = addresses,
		.count = count,
		.with_code = resolver->with_code,
		.end_ns = resolver->end_ns,
	};
	return code_starts_meet(&starts);
}

static uint32_t copy_name(struct resolver *resolver, uint64_t name)
{
	size_t begin = resolver->names->len;

	if (name == SEARCH_NO_NAME || begin >= NATIVE_NO_NAME)
		return NATIVE_NO_NAME;
	return strings_copy(&resolver->strings[name >> TABLE_SHIFT],
			    name & ((1ULL << TABLE_SHIFT) - 1), resolver->names)
		       ? (uint32_t)begin
		       : NATIVE_NO_NAME;
}

/* Translates an answer to file offsets, within the segment that holds the question's offset. An
 * answer that begins in another segment is none. */
static void translate_answer(const struct resolver *resolver, struct found *found, uint64_t address,
			     struct native_function *function)
{
	const struct elf_image *image = &resolver->image;
	const struct elf_segment *segment = image->segments;

	while (function->offset - segment->file_offset >= segment->file_bytes)
		segment++; /* the first that holds the offset: elf_address_of() found one */
	uint64_t low = resolver->base + found->low, high = resolver->base + found->high;
	uint64_t end = segment->address + segment->file_bytes;

	if (low < segment->address)
		low = segment->address;
	if (resolver->base + found->start <
	    segment->address) /* nothing reaches over a segment's end */
		*found = (struct found){.name = SEARCH_NO_NAME,
					.start = (uint32_t)(segment->address - resolver->base),
					.is_end = true};
	if (high > end)
		high = end;
	function->from = function->offset - (address - low);
	function->to = function->offset + (high - address);
	function->address = resolver->base + found->start;
	if (!found->is_end)
		return;
	uint64_t behind = code_refs_skip_padding(resolver->fd, image, function->address);
	if (behind <= address) /* else the question is about padding itself */
		function->address = behind;
}

/* Resolves a piece of the functions; `addresses` are their addresses, sorted. */
static int resolve_piece(struct resolver *resolver, struct native_function *functions,
			 const uint32_t *addresses, size_t count)
{
	uint64_t name_before = SEARCH_NO_NAME;
	uint32_t name = NATIVE_NO_NAME;

	address_search_free(TAKE_PTR(resolver->search));
	int r = address_search_new(&resolver->search, addresses, count);
	if (r == 0)
		r = search_tables(resolver, addresses, count);
	for (size_t i = 0; r == 0 && i < count; i++) {
		struct found found;

		address_search_answer(resolver->search, i, &found);
		translate_answer(resolver, &found, resolver->base + addresses[i], &functions[i]);
		if (found.name != name_before)
			name = copy_name(resolver, found.name);
		name_before = found.name;
		functions[i].name = name;
		r = buf_error(resolver->names);
	}
	return r;
}

/* Compares unresolved functions by address. Until a function is resolved, `address` is that of the
 * question's offset, and `from` = `to` means that it has none. */
static int compare_functions(const void *a, const void *b)
{
	const struct native_function *left = a, *right = b;
	bool left_none = left->from == left->to, right_none = right->from == right->to;

	if (left_none != right_none)
		return left_none ? 1 : -1;
	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	return left->offset < right->offset ? -1 : left->offset > right->offset;
}

/* Sorts the functions by address; returns how many have an address. */
static size_t locate_functions(const struct resolver *resolver, struct native_function *functions,
			       size_t count)
{
	const struct elf_image *image = &resolver->image;
	size_t located = 0;

	for (size_t i = 0; i < count; i++) {
		struct native_function *function = &functions[i];
		uint64_t address;

		*function = (struct native_function){.offset = function->offset,
						     .name = NATIVE_NO_NAME};
		if (!elf_address_of(image->segments, image->segments_count, function->offset,
				    &address) ||
		    address - resolver->base >= UINT32_MAX)
			continue;
		function->address = address;
		function->to = 1;
		located++;
	}
	qsort(functions, count, sizeof(*functions), compare_functions);
	return located;
}

static int resolve_pieces(struct resolver *resolver, struct native_function *functions,
			  size_t count)
{
	size_t piece_max = count < PIECE_MAX ? count : PIECE_MAX;
	_cleanup_free_ uint32_t *addresses = calloc(piece_max + 1, sizeof(*addresses));
	int r = addresses ? 0 : -ENOMEM;

	for (size_t done = 0; r == 0 && done < count;) {
		size_t n = count - done < PIECE_MAX ? count - done : PIECE_MAX;

		for (size_t i = 0; i < n; i++)
			addresses[i] = (uint32_t)(functions[done + i].address - resolver->base);
		r = resolve_piece(resolver, functions + done, addresses, n);
		done += n;
	}
	return r;
}

/*
 * Opens the tables that have the names. Stripped symbols are in the debug file, else in the small
 * debug file inside the file; Go's programs have all names in pclntab, which can't be stripped.
 */
static int find_tables(struct resolver *resolver, int debug_fd)
{
	const struct elf_image *image = &resolver->image;
	struct elf_dynamic dynamic;
	int r = debug_fd >= 0 ? elf_read(debug_fd, &resolver->debug) : -ENOENT;

	if (r == -ENOMEM)
		return r;
	if (r == 0)
		resolver->debug_fd = debug_fd;
	if (image->symtab.symbols.bytes || resolver->debug.symtab.symbols.bytes)
		return 0;
	if (!image->dynsym.symbols.bytes && !image->has_sections &&
	    elf_dynamic_read(resolver->fd, image, &dynamic) == 0)
		resolver->image.dynsym = dynamic.symbols;
	resolver->mini_fd = minidebug_open(resolver->fd, image);
	if (resolver->mini_fd >= 0 && elf_read(resolver->mini_fd, &resolver->debug) == 0)
		resolver->debug_fd = resolver->mini_fd;
	r = pclntab_open(&resolver->go, resolver->fd, image);
	return r == -ENOMEM || resolver->mini_fd == -ENOMEM ? -ENOMEM : 0;
}

static void describe_file(const struct elf_image *image, struct native_file *file)
{
	memcpy(file->segments, image->segments, sizeof(file->segments));
	file->segments_count = image->segments_count;
	memcpy(file->build_id, image->build_id, sizeof(file->build_id));
	file->build_id_bytes = image->build_id_bytes;
}

int native_resolve(int fd, int debug_fd, bool with_code, struct native_function *functions,
		   size_t count, struct buf *names, struct native_file *file)
{
	_cleanup_(resolver_free) struct resolver *resolver = calloc(1, sizeof(*resolver));

	if (!resolver)
		return -ENOMEM;
	resolver->fd = fd;
	resolver->debug_fd = resolver->mini_fd = -1;
	resolver->names = names;
	resolver->with_code = with_code;
	resolver->end_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + CODE_MAX_NS;
	int r = elf_read(fd, &resolver->image);
	if (r < 0)
		return r;
	if (file)
		describe_file(&resolver->image, file);
	r = find_tables(resolver, debug_fd);
	if (r < 0)
		return r;
	resolver->base = UINT64_MAX;
	for (size_t i = 0; i < resolver->image.segments_count; i++) {
		if (resolver->image.segments[i].address < resolver->base)
			resolver->base = resolver->image.segments[i].address;
	}
	size_t located = locate_functions(resolver, functions, count);
	return resolve_pieces(resolver, functions, located);
}
