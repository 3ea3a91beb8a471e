// SPDX-License-Identifier: GPL-2.0-only
/*
 * Functions lie in two arrays, sorted by address: 8 bytes of address, 4 of where the name begins in
 * one block of text. 120,000 symbols make 4 MB.
 */
#include "symbol/kernel.h"

#include <bpf/bpf.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/hash.h"

#define SYMBOLS_MAX  4000000
#define NAMES_MAX    (256u * 1024 * 1024)
#define MODULES_MAX  (4u * 1024 * 1024)
#define PROGRAMS_MAX 100000
/* A function isn't longer: an address further behind a symbol belongs to something unknown. */
#define FUNCTION_MAX (1024 * 1024)
/* A program has its number before it has its names: younger ones may lack them. */
#define YOUNG_NS 1000000000ULL

struct function {
	uint64_t address;
	uint32_t name;
};

struct table {
	struct function *functions;
	size_t count, capacity;
	struct buf names;
};

struct kernel_symbols {
	struct table table;
	uint64_t origin;	 /* hash of what the table was read from: modules and programs */
	uint64_t text, text_end; /* the kernel's own code */
	bool checked;		 /* in this batch */
	bool settled; /* nothing came or went while the table was read, nor just before */
	int error;
};

static void table_done(struct table *table)
{
	free(table->functions);
	buf_done(&table->names);
}

int kernel_symbols_new(struct kernel_symbols **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void kernel_symbols_free(struct kernel_symbols *symbols)
{
	if (!symbols)
		return;
	table_done(&symbols->table);
	free(symbols);
}

int kernel_symbols_parse_line(char *line, uint64_t *address, const char **name)
{
	char *end;

	*address = strtoull(line, &end, 16);
	if (end == line || end[0] != ' ' || !end[1] || end[2] != ' ')
		return -EINVAL;
	char type = (char)tolower((unsigned char)end[1]);
	*name = end + 3;
	end += 3;
	end[strcspn(end, " \t\n")] = '\0';
	return type == 't' || type == 'w';
}

static int add(struct table *table, uint64_t address, const char *name)
{
	if (table->count == SYMBOLS_MAX)
		return -EFBIG;
	if (table->count == table->capacity) {
		size_t capacity = table->capacity ? table->capacity * 2 : 4096;
		struct function *grown = reallocarray(table->functions, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		table->functions = grown;
		table->capacity = capacity;
	}
	table->functions[table->count++] = (struct function){address, (uint32_t)table->names.len};
	buf_add(&table->names, name, strlen(name) + 1);
	return buf_error(&table->names);
}

static int compare(const void *a, const void *b)
{
	const struct function *left = a, *right = b;

	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	return left->name < right->name ? -1 : left->name > right->name;
}

static void free_file(FILE **file)
{
	if (*file)
		fclose(*file);
}

static int read_table(struct table *table)
{
	_cleanup_(free_file) FILE *file = fopen("/proc/kallsyms", "re");
	_cleanup_free_ char *line = NULL;
	size_t line_bytes = 0;
	bool hidden = true;

	if (!file)
		return -errno;
	while (getline(&line, &line_bytes, file) > 0) {
		uint64_t address;
		const char *name;

		if (kernel_symbols_parse_line(line, &address, &name) != 1 || !address)
			continue;
		hidden = false;
		int r = add(table, address, name);
		if (r < 0)
			return r;
	}
	if (hidden)
		return -EACCES;
	qsort(table->functions, table->count, sizeof(*table->functions), compare);
	return 0;
}

/* The lines of /proc/modules are `name size users dependants state address`: users come and go. */
static uint64_t hash_modules(void)
{
	_cleanup_buf_ struct buf text = BUF_INIT(MODULES_MAX);
	uint64_t hash = 1;

	file_read(AT_FDCWD, "/proc/modules", &text); /* no such file: no modules */
	buf_char(&text, '\0');
	if (buf_error(&text))
		return 0;
	for (char *line = text.data; *line;) {
		size_t len = strcspn(line, "\n"), name = strcspn(line, " \n");
		const char *address = memrchr(line, ' ', len);

		hash = hash_bytes(hash, line, name);
		if (address)
			hash = hash_bytes(hash, address, (size_t)(line + len - address));
		line += len + (line[len] == '\n');
	}
	return hash;
}

/* Changes whenever a module or a BPF program comes or goes. *newest is the last program's number.
 */
static uint64_t origin_now(uint32_t *newest)
{
	uint64_t hash = hash_modules();
	uint32_t id = 0;

	*newest = 0;
	for (int i = 0; i < PROGRAMS_MAX && bpf_prog_get_next_id(id, &id) == 0; i++) {
		hash = hash_bytes(hash, &id, sizeof(id));
		*newest = id;
	}
	return hash;
}

static bool is_young(uint32_t program)
{
	_cleanup_close_ int fd = program ? bpf_prog_get_fd_by_id(program) : -1;
	struct bpf_prog_info info = {0};
	uint32_t bytes = sizeof(info);
	struct timespec now;

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &bytes) < 0 ||
	    clock_gettime(CLOCK_BOOTTIME, &now) < 0)
		return false;
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec - info.load_time <
	       YOUNG_NS;
}

static uint64_t address_of(const struct table *table, const char *name)
{
	for (size_t i = 0; i < table->count; i++) {
		if (strcmp(table->names.data + table->functions[i].name, name) == 0)
			return table->functions[i].address;
	}
	return 0;
}

static int refresh(struct kernel_symbols *symbols)
{
	uint32_t newest, newest_after;
	uint64_t origin = origin_now(&newest);

	if (symbols->table.count && origin == symbols->origin && symbols->settled)
		return 0;
	_cleanup_(table_done) struct table table = {.names = BUF_INIT(NAMES_MAX)};
	int r = read_table(&table);
	if (r < 0)
		return r;
	table_done(&symbols->table);
	symbols->table = table;
	table = (struct table){0};
	symbols->origin = origin;
	/* The kernel's list is read by position: who comes or goes meanwhile hides another. */
	symbols->settled = !is_young(newest) && origin_now(&newest_after) == origin;
	symbols->text = address_of(&symbols->table, "_stext");
	symbols->text_end = address_of(&symbols->table, "_etext");
	return 0;
}

void kernel_symbols_begin(struct kernel_symbols *symbols)
{
	symbols->checked = false;
}

int kernel_symbols_error(const struct kernel_symbols *symbols)
{
	return symbols->error;
}

/* The last function that begins at or before the address. */
static const struct function *find(const struct table *table, uint64_t address)
{
	size_t low = 0, high = table->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->functions[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	/* Of several names for one address the first in the file. */
	while (low > 1 && table->functions[low - 2].address == table->functions[low - 1].address)
		low--;
	return low ? &table->functions[low - 1] : NULL;
}

/*
 * Whether a BPF function begins there. An indirect jump that is guarded against speculation puts
 * its target where a return address lies: the byte before it is another function's. (Between
 * functions of BPF is room, so no call and no instruction ends right there.)
 */
static bool is_jumped_to(const struct table *table, uint64_t address)
{
	const struct function *function = find(table, address);

	return function && table->names.data && function->address == address &&
	       strncmp(table->names.data + function->name, "bpf_prog_", 9) == 0;
}

const char *kernel_symbols_find(struct kernel_symbols *symbols, uint64_t address)
{
	bool own = address >= symbols->text && address < symbols->text_end;

	if (!own && !symbols->checked) {
		symbols->checked = true;
		symbols->error = refresh(symbols);
	}
	const struct function *function = find(&symbols->table, address);
	if (!own && is_jumped_to(&symbols->table, address + 1))
		return symbols->table.names.data + find(&symbols->table, address + 1)->name;
	if (!function || address - function->address > FUNCTION_MAX)
		return NULL;
	return symbols->table.names.data + function->name;
}
