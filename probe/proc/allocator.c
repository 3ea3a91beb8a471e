// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two passes over each symbol table, both from the beginning to the end, however large it is: where
 * in the strings our names stand (a name may be the end of a longer one), then which symbols have
 * these.
 */
#include "proc/allocator.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "proc/allocator_state.h"

#define SYMBOLS_MAX (4u * 1024 * 1024)
#define STRINGS_MAX (512u * 1024 * 1024)
#define NAMES_MAX   (8u * 1024 * 1024) /* in the strings; each is compared with ours */
#define PLACES_MAX  65536	       /* a program with OpenSSL has thousands of *_free */
#define BATCH	    512
#define PIECE	    4096

/* A name's place in the strings. */
struct place {
	uint32_t offset;
	uint32_t name; /* in allocator_names */
};

struct reading {
	int fd;
	const struct elf_image *image;
	struct allocator *allocator;
	struct place places[PLACES_MAX];
	size_t places_count;
	uint32_t names_seen;		      /* in these strings */
	uint8_t lengths[ALLOCATOR_NAMES_MAX]; /* of our names */
	bool is_last[256];		      /* one of them ends so */
	bool signs[SIGN_COUNT];
	bool has_malloc, has_free;
	const struct allocator_name *named[ALLOCATOR_FUNCTIONS_MAX];
	char text[ALLOCATOR_NAME_MAX + PIECE];
	Elf64_Sym symbols[BATCH];
};

/* ---- the strings ---- */

/* Those names that end before the NUL at text[at], of which `known` bytes before are there;
 * `offset` is the NUL's in the strings. -EFBIG: too many. */
static int find_names(struct reading *reading, size_t at, size_t known, uint64_t offset)
{
	if (++reading->names_seen > NAMES_MAX)
		return -EFBIG;
	for (size_t i = 0; i < allocator_names_count; i++) {
		const char *name = allocator_names[i].name;
		size_t len = reading->lengths[i];

		if (len > known || name[len - 1] != reading->text[at - 1] ||
		    memcmp(reading->text + at - len, name, len) != 0)
			continue;
		if (reading->places_count == PLACES_MAX)
			return -EFBIG;
		reading->places[reading->places_count++] =
			(struct place){(uint32_t)(offset - len), (uint32_t)i};
	}
	return 0;
}

static int by_offset(const void *a, const void *b)
{
	const struct place *left = a, *right = b;

	return (left->offset > right->offset) - (left->offset < right->offset);
}

static int find_places(struct reading *reading, const struct elf_extent *strings)
{
	const size_t front = ALLOCATOR_NAME_MAX;

	reading->places_count = reading->names_seen = 0;
	memset(reading->text, 0, front);
	for (uint64_t done = 0; done < strings->bytes;) {
		size_t n = strings->bytes - done < PIECE ? (size_t)(strings->bytes - done) : PIECE;
		int r = elf_pread(reading->fd, reading->text + front, n, strings->offset + done);

		if (r < 0)
			return r;
		for (size_t at = front; r == 0 && at < front + n; at++) {
			uint64_t offset = done + at - front;

			if (!reading->text[at] && reading->is_last[(uint8_t)reading->text[at - 1]])
				r = find_names(reading, at, offset < at ? (size_t)offset : at,
					       offset);
		}
		if (r < 0)
			return r;
		memmove(reading->text, reading->text + n, front);
		done += n;
	}
	qsort(reading->places, reading->places_count, sizeof(struct place), by_offset);
	return 0;
}

/* NULL: none of our names. */
static const struct place *place_at(const struct reading *reading, uint32_t offset)
{
	struct place key = {.offset = offset};

	return bsearch(&key, reading->places, reading->places_count, sizeof(key), by_offset);
}

/* ---- the symbols ---- */

static bool offset_of(const struct elf_image *image, uint64_t address, uint64_t *offset)
{
	for (size_t i = 0; i < image->segments_count; i++) {
		const struct elf_segment *segment = &image->segments[i];

		if (address - segment->address < segment->file_bytes) {
			*offset = address - segment->address + segment->file_offset;
			return true;
		}
	}
	return false;
}

static void add_function(struct reading *reading, const struct allocator_name *name,
			 const Elf64_Sym *symbol)
{
	struct allocator *allocator = reading->allocator;
	uint64_t offset;

	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC ||
	    !offset_of(reading->image, symbol->st_value, &offset))
		return;
	if (!name->prefixed && name->call == CALL_SIZE && strcmp(name->name, "malloc") == 0)
		reading->has_malloc = true;
	if (!name->prefixed && name->call == CALL_FREE && strcmp(name->name, "free") == 0)
		reading->has_free = true;
	for (size_t i = 0; i < allocator->count; i++) {
		if (allocator->functions[i].address != symbol->st_value)
			continue;
		if (name < reading->named[i]) { /* the plainer one: free, not tc_free */
			reading->named[i] = name;
			allocator->functions[i].name = name->name;
			allocator->functions[i].call = name->call;
			allocator->functions[i].arguments = name->arguments;
		}
		return;
	}
	if (allocator->count == ALLOCATOR_FUNCTIONS_MAX)
		return;
	reading->named[allocator->count] = name;
	allocator->functions[allocator->count++] = (struct allocator_function){
		.name = name->name,
		.call = name->call,
		.address = symbol->st_value,
		.file_offset = offset,
		.bytes = symbol->st_size,
		.arguments = name->arguments,
	};
}

static void meet_symbol(struct reading *reading, const Elf64_Sym *symbol)
{
	const struct place *place;

	if (symbol->st_shndx == SHN_UNDEF || !symbol->st_name || !symbol->st_value)
		return;
	place = place_at(reading, symbol->st_name);
	if (!place)
		return;
	const struct allocator_name *name = &allocator_names[place->name];
	reading->signs[name->sign] = true;
	if (name->call != CALL_COUNT_OF)
		add_function(reading, name, symbol);
}

static int meet_symbols(struct reading *reading, const struct elf_symbols *from)
{
	uint64_t total = from->symbols.bytes / sizeof(Elf64_Sym);

	if (total > SYMBOLS_MAX || from->strings.bytes > STRINGS_MAX)
		return -EFBIG;
	int r = total ? find_places(reading, &from->strings) : 0;
	if (r < 0 || !reading->places_count)
		return r;
	for (uint64_t at = 0; r == 0 && at < total; at += BATCH) {
		size_t n = total - at < BATCH ? (size_t)(total - at) : BATCH;

		r = elf_pread(reading->fd, reading->symbols, n * sizeof(Elf64_Sym),
			      from->symbols.offset + at * sizeof(Elf64_Sym));
		for (size_t i = 0; r == 0 && i < n; i++)
			meet_symbol(reading, &reading->symbols[i]);
	}
	return r;
}

/* ---- what it is ---- */

/* A static program may never free. */
static bool is_default(const struct reading *reading)
{
	bool is_static = !reading->image->dynsym.symbols.bytes;

	return reading->has_malloc && (reading->has_free || is_static);
}

static enum allocator_kind kind_of(const struct reading *reading)
{
	const bool *signs = reading->signs;

	if (signs[SIGN_LOADER])
		return ALLOCATOR_NONE;
	if (signs[SIGN_JEMALLOC])
		return ALLOCATOR_JEMALLOC;
	if (signs[SIGN_TCMALLOC])
		return ALLOCATOR_TCMALLOC;
	if (!is_default(reading))
		return ALLOCATOR_NONE;
	if (signs[SIGN_GLIBC])
		return ALLOCATOR_GLIBC;
	return signs[SIGN_MUSL] ? ALLOCATOR_MUSL : ALLOCATOR_OTHER;
}

/*
 * C libraries have no operators: those in a static program are libstdc++'s, which call malloc. When
 * an operator new of an allocator that isn't known throws nobody knows, and the exception would end
 * the program (bpf/malloc.bpf.c).
 */
static bool belongs(const struct allocator *allocator, const struct allocator_name *name)
{
	if (allocator->kind == ALLOCATOR_OTHER && name->call == CALL_NEW)
		return false;
	return !name->is_operator || (allocator->is_default && allocator->kind != ALLOCATOR_GLIBC &&
				      allocator->kind != ALLOCATOR_MUSL);
}

static int judge(struct reading *reading)
{
	struct allocator *allocator = reading->allocator;
	bool wraps[ALLOCATOR_FUNCTIONS_MAX];
	size_t kept = 0;

	allocator->kind = kind_of(reading);
	allocator->is_default = allocator->kind != ALLOCATOR_NONE && is_default(reading);
	if (allocator->kind == ALLOCATOR_NONE)
		allocator->count = 0;
	for (size_t i = 0; i < allocator->count; i++) {
		if (!belongs(allocator, reading->named[i]))
			continue;
		wraps[kept] = reading->named[i]->wraps;
		allocator->functions[kept++] = allocator->functions[i];
	}
	allocator->count = kept;
	return allocator_leave_out_wrappers(reading->fd, reading->image, allocator, wraps);
}

int allocator_read(int fd, const struct elf_image *image, struct allocator *allocator)
{
	_cleanup_free_ struct reading *reading = calloc(1, sizeof(*reading));

	*allocator = (struct allocator){.kind = ALLOCATOR_NONE};
	if (!reading)
		return -ENOMEM;
	reading->fd = fd;
	reading->image = image;
	reading->allocator = allocator;
	for (size_t i = 0; i < allocator_names_count; i++) {
		const char *name = allocator_names[i].name;

		reading->lengths[i] = (uint8_t)strlen(name);
		reading->is_last[(uint8_t)name[reading->lengths[i] - 1]] = true;
	}
	if (!image->wide)
		return 0;
	int r = meet_symbols(reading, &image->dynsym);
	if (r == 0)
		r = meet_symbols(reading, &image->symtab);
	if (r == 0)
		r = judge(reading);
	if (r < 0)
		*allocator = (struct allocator){.kind = ALLOCATOR_NONE};
	return r;
}
