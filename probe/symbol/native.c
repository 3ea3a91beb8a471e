// SPDX-License-Identifier: GPL-2.0-only
#include "symbol/native.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "proc/elf.h"

#define SYMBOLS_MAX (2u * 1024 * 1024)
#define STRINGS_MAX (256u * 1024 * 1024)
#define NAMES_MAX   (256u * 1024 * 1024)
#define NAME_MAX_   65535
#define NAMES_SLACK 65536
#define UNWIND_MAX  (64u * 1024 * 1024)
#define BATCH	    1024
#define NO_NAME	    UINT32_MAX

struct function {
	uint32_t start; /* from the table's base */
	uint32_t bytes;
	uint32_t name; /* in names; NO_NAME */
};

struct native_table {
	struct elf_segment segments[ELF_SEGMENTS_MAX];
	size_t segments_count;
	uint64_t base;		    /* lowest linked address of executable code */
	struct function *functions; /* by start; a start stands once */
	size_t count;
	struct buf names;
};

/* While a table is built: a symbol with what decides between several at one address. */
struct candidate {
	uint32_t start, bytes;
	uint32_t name;
	uint8_t rank; /* the higher the better */
};

struct builder {
	struct native_table *table;
	struct candidate *candidates;
	size_t count, capacity;
	struct buf names;
};

static void builder_done(struct builder *builder)
{
	native_table_free(builder->table);
	free(builder->candidates);
	buf_done(&builder->names);
}

void native_table_free(struct native_table *table)
{
	if (!table)
		return;
	free(table->functions);
	buf_done(&table->names);
	free(table);
}

size_t native_table_bytes(const struct native_table *table)
{
	return sizeof(*table) + table->count * sizeof(*table->functions) + table->names.capacity;
}

static bool is_code(const struct native_table *table, uint64_t address)
{
	for (size_t i = 0; i < table->segments_count; i++) {
		if (address - table->segments[i].address < table->segments[i].file_bytes)
			return address - table->base < UINT32_MAX;
	}
	return false;
}

static int add(struct builder *builder, const struct candidate *candidate)
{
	if (builder->count == SYMBOLS_MAX)
		return -EFBIG;
	if (builder->count == builder->capacity) {
		size_t capacity = builder->capacity ? builder->capacity * 2 : 1024;
		struct candidate *grown =
			reallocarray(builder->candidates, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		builder->candidates = grown;
		builder->capacity = capacity;
	}
	builder->candidates[builder->count++] = *candidate;
	return 0;
}

/*
 * Of several symbols at one address: with a size before without, function before untyped label,
 * global before weak before local, fewer leading underscores. (As perf chooses, so that both show
 * the same name.)
 */
static uint8_t rank_of(const Elf64_Sym *symbol, const char *name)
{
	unsigned binding = ELF64_ST_BIND(symbol->st_info);
	unsigned rank = 0;

	rank |= symbol->st_size ? 1u << 7 : 0;
	rank |= ELF64_ST_TYPE(symbol->st_info) != STT_NOTYPE ? 1u << 6 : 0;
	rank |= binding == STB_GLOBAL ? 2u << 4 : binding == STB_WEAK ? 1u << 4 : 0;
	rank |= name[0] != '_' ? 2u : name[1] != '_' ? 1u : 0;
	return (uint8_t)rank;
}

static int take_symbol(struct builder *builder, const Elf64_Sym *symbol, const char *strings,
		       size_t strings_bytes)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info);

	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return 0;
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_name >= strings_bytes ||
	    !is_code(builder->table, symbol->st_value))
		return 0;
	const char *name = strings + symbol->st_name; /* strings end with a NUL */
	size_t len = strlen(name);
	/* "$x" and its like mark stretches of code and data, ".L" labels are the compiler's. */
	if (!len || len > NAME_MAX_ || name[0] == '$' || (type == STT_NOTYPE && name[0] == '.'))
		return 0;
	uint64_t room = UINT32_MAX - (symbol->st_value - builder->table->base);
	struct candidate candidate = {
		.start = (uint32_t)(symbol->st_value - builder->table->base),
		.bytes = (uint32_t)(symbol->st_size < room ? symbol->st_size : room),
		.name = (uint32_t)builder->names.len,
		.rank = rank_of(symbol, name),
	};
	buf_add(&builder->names, name, len + 1);
	return buf_error(&builder->names) ? buf_error(&builder->names) : add(builder, &candidate);
}

static void widen(Elf64_Sym *to, const Elf32_Sym *from)
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

static int take_symbols(struct builder *builder, int fd, bool wide, const struct elf_symbols *from)
{
	union {
		Elf32_Sym narrow[BATCH];
		Elf64_Sym wide[BATCH];
	} batch;
	size_t each = wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	uint64_t total = from->symbols.bytes / each;
	/* Many symbols may share one long string: what is copied stays near what the file has. */
	size_t names_max = builder->names.len + 2 * from->strings.bytes + NAMES_SLACK;

	if (!total || !from->strings.bytes)
		return 0;
	if (total > SYMBOLS_MAX || from->strings.bytes > STRINGS_MAX)
		return -EFBIG;
	_cleanup_free_ char *strings = malloc(from->strings.bytes + 1);
	if (!strings)
		return -ENOMEM;
	strings[from->strings.bytes] = '\0';
	int r = elf_pread(fd, strings, from->strings.bytes, from->strings.offset);
	for (uint64_t at = 0; r == 0 && at < total; at += BATCH) {
		size_t n = total - at < BATCH ? (size_t)(total - at) : BATCH;

		r = elf_pread(fd, &batch, n * each, from->symbols.offset + at * each);
		for (size_t i = 0; r == 0 && i < n; i++) {
			Elf64_Sym symbol;

			if (wide)
				symbol = batch.wide[i];
			else
				widen(&symbol, &batch.narrow[i]);
			r = take_symbol(builder, &symbol, strings, from->strings.bytes);
			if (r == 0 && builder->names.len > names_max)
				r = -EFBIG;
		}
	}
	return r;
}

/*
 * .eh_frame_hdr, as LSB describes it and every linker writes it: version 1, pointer to .eh_frame,
 * count as udata4 (0x03), table of {start, FDE} as sdata4 relative to this section (0x3b).
 */
static int take_unwind_starts(struct builder *builder, int fd, const struct elf_image *image)
{
	struct {
		uint8_t version, eh_frame_encoding, count_encoding, table_encoding;
		uint32_t eh_frame;
		uint32_t count;
	} head;
	struct {
		int32_t start, fde;
	} rows[BATCH];
	uint64_t at = image->eh_frame_hdr.offset, bytes = image->eh_frame_hdr.bytes;

	if (bytes < sizeof(head) || bytes > UNWIND_MAX ||
	    elf_pread(fd, &head, sizeof(head), at) < 0)
		return 0;
	if (head.version != 1 || head.count_encoding != 0x03 || head.table_encoding != 0x3b ||
	    (head.eh_frame_encoding & 0x0f) == 0x0c || /* 8-byte pointer */
	    head.count > (bytes - sizeof(head)) / sizeof(rows[0]))
		return 0;
	at += sizeof(head);
	for (uint32_t done = 0; done < head.count;) {
		uint32_t n = head.count - done < BATCH ? head.count - done : BATCH;

		if (elf_pread(fd, rows, n * sizeof(rows[0]), at + done * sizeof(rows[0])) < 0)
			return 0;
		for (uint32_t i = 0; i < n; i++) {
			uint64_t start = image->eh_frame_hdr_address + (uint64_t)rows[i].start;
			struct candidate candidate = {.name = NO_NAME};

			if (!is_code(builder->table, start))
				continue;
			candidate.start = (uint32_t)(start - builder->table->base);
			int r = add(builder, &candidate);
			if (r < 0)
				return r;
		}
		done += n;
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct candidate *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	if (left->rank != right->rank)
		return left->rank > right->rank ? -1 : 1;
	return left->name < right->name ? -1 : left->name > right->name;
}

/* A label without size or name inside a function that has both is not a function. */
static bool is_inside(const struct candidate *candidate, uint64_t covered)
{
	return candidate->start < covered && (candidate->name == NO_NAME || candidate->bytes == 0);
}

/* From sorted candidates to the table: one for each start, names that are used. */
static int finish(struct builder *builder)
{
	struct native_table *table = builder->table;
	uint64_t covered = 0;
	size_t kept = 0;

	if (builder->count)
		qsort(builder->candidates, builder->count, sizeof(*builder->candidates), compare);
	for (size_t i = 0; i < builder->count; i++) {
		const struct candidate *candidate = &builder->candidates[i];

		if (kept && builder->candidates[kept - 1].start == candidate->start)
			continue;
		if (is_inside(candidate, covered))
			continue;
		if (candidate->start + (uint64_t)candidate->bytes > covered)
			covered = candidate->start + (uint64_t)candidate->bytes;
		builder->candidates[kept++] = *candidate;
	}
	table->functions = calloc(kept ? kept : 1, sizeof(*table->functions));
	if (!table->functions)
		return -ENOMEM;
	for (size_t i = 0; i < kept; i++) {
		const struct candidate *candidate = &builder->candidates[i];
		struct function *function = &table->functions[i];

		*function = (struct function){candidate->start, candidate->bytes, NO_NAME};
		if (candidate->name == NO_NAME)
			continue;
		const char *name = builder->names.data + candidate->name;
		function->name = (uint32_t)table->names.len;
		buf_add(&table->names, name, strlen(name) + 1);
	}
	table->count = kept;
	return buf_error(&table->names);
}

static int begin(struct builder *builder, const struct elf_image *image)
{
	struct native_table *table = calloc(1, sizeof(*table));

	if (!table)
		return -ENOMEM;
	builder->table = table;
	table->names = (struct buf)BUF_INIT(NAMES_MAX);
	memcpy(table->segments, image->segments, sizeof(table->segments));
	table->segments_count = image->segments_count;
	table->base = UINT64_MAX;
	for (size_t i = 0; i < table->segments_count; i++) {
		if (table->segments[i].address < table->base)
			table->base = table->segments[i].address;
	}
	return 0;
}

int native_table_load(struct native_table **ret, int fd, int debug_fd)
{
	_cleanup_(builder_done) struct builder builder = {.names = BUF_INIT(NAMES_MAX)};
	struct elf_image image, debug;
	int r = elf_read(fd, &image);

	if (r == 0)
		r = begin(&builder, &image);
	if (r == 0)
		r = take_symbols(&builder, fd, image.wide, &image.symtab);
	if (r == 0)
		r = take_symbols(&builder, fd, image.wide, &image.dynsym);
	if (r == 0 && debug_fd >= 0 && elf_read(debug_fd, &debug) == 0)
		r = take_symbols(&builder, debug_fd, debug.wide, &debug.symtab);
	if (r == 0)
		r = take_unwind_starts(&builder, fd, &image);
	if (r == 0)
		r = finish(&builder);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(builder.table);
	return 0;
}

/* Functions may lie inside others (assembly does that): how many are looked at backwards. */
#define NESTED_MAX 16

static const char *name_of(const struct native_table *table, size_t i)
{
	uint32_t name = table->functions[i].name;

	return name == NO_NAME ? NULL : table->names.data + name;
}

int native_table_find(const struct native_table *table, uint64_t file_offset,
		      struct native_function *function)
{
	size_t low = 0, high = table->count;
	uint64_t address;

	if (!elf_address_of(table->segments, table->segments_count, file_offset, &address) ||
	    address - table->base >= UINT32_MAX)
		return -ENOENT;
	uint32_t wanted = (uint32_t)(address - table->base);
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->functions[middle].start <= wanted)
			low = middle + 1;
		else
			high = middle;
	}
	/* A function without a size reaches to the next one. */
	uint32_t gap = low ? table->functions[low - 1].start : 0;
	for (size_t i = low; i > 0 && low - i < NESTED_MAX; i--) {
		const struct function *at = &table->functions[i - 1];

		if (wanted - at->start < at->bytes || (i == low && at->bytes == 0)) {
			*function = (struct native_function){
				.name = name_of(table, i - 1),
				.address = table->base + at->start,
				.next = i < table->count ? name_of(table, i) : NULL,
			};
			return 0;
		}
		if (at->start + at->bytes > gap)
			gap = at->start + at->bytes;
	}
	/* Between functions: where the last one ended stands for all of the gap. */
	*function = (struct native_function){.address = table->base + gap};
	return 0;
}
