// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/kernel_symbols.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "symbol/kernel_table.h"

#define LIST_MAX     (256u * 1024 * 1024)
#define MODULES_MAX  (4u * 1024 * 1024)
#define PROGRAMS_MAX 100000
/* No function is longer: an address further behind a symbol belongs to something unknown. */
#define FUNCTION_MAX (1024 * 1024)
#define CODE_STEP    4 /* functions begin at such addresses at least */
/* A BPF program gets its number before its names: a program younger than this may lack names. */
#define YOUNG_NS 1000000000ULL

struct kernel_symbols {
	struct kernel_table table;
	uint64_t origin;	 /* hash of the modules and programs when the table was read */
	uint64_t text, text_end; /* addresses of the kernel's own code */
	bool checked;		 /* refresh_table() was called in this batch */
	bool settled; /* no module or program came or went during the reading or just before */
	/* If programs can't be listed: the number of our last trial program, and when a program
	 * that isn't ours was last seen to have come (CLOCK_BOOTTIME). */
	uint32_t own_number;
	uint64_t came_ns;
	int error;
	char name[KERNEL_NAME_BYTES + 8]; /* the last name that was found, with its prefix */
};

int kernel_symbols_new(struct kernel_symbols **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void kernel_symbols_free(struct kernel_symbols *symbols)
{
	if (!symbols)
		return;
	kernel_table_done(&symbols->table);
	free(symbols);
}

static void free_file(FILE **file)
{
	if (*file)
		fclose(*file);
}

static int read_table(struct kernel_table *table)
{
	_cleanup_(free_file) FILE *file = fopen("/proc/kallsyms", "re");

	return file ? kernel_table_read(table, file) : -errno;
}

/* Hashes the names and addresses in /proc/modules, whose lines are `name size users dependants
 * state address`. Users change often, so they are left out. */
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

/* Returns the number that a new BPF program gets now, as numbers are given out one by one; 0 if no
 * program can be loaded. */
static uint32_t next_number(void)
{
	static const struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K}, /* r0 = 0 */
		{.code = BPF_JMP | BPF_EXIT},
	};
	_cleanup_close_ int fd = bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, NULL, "GPL", code,
					       sizeof(code) / sizeof(*code), NULL);
	struct bpf_prog_info info = {0};
	uint32_t bytes = sizeof(info);

	return fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &bytes) < 0 ? 0 : info.id;
}

/*
 * Finds out whether BPF programs came since the last call, without the right to list them (that
 * takes CAP_SYS_ADMIN, which is not kept for this). A program that went isn't noticed: its name
 * stays in the table, at an address where nothing runs until another program comes.
 */
static void notice_programs(struct kernel_symbols *symbols)
{
	uint32_t expected = symbols->own_number + 1;

	symbols->own_number = next_number();
	if (symbols->own_number != expected)
		symbols->came_ns = clock_ns(CLOCK_BOOTTIME);
}

/* Returns a hash that changes whenever a module or a BPF program comes or goes. *newest is the last
 * program's number. */
static uint64_t origin_now(struct kernel_symbols *symbols, uint32_t *newest)
{
	uint64_t hash = hash_modules();
	uint32_t id = 0;
	int r = 0;

	*newest = 0;
	for (int i = 0; i < PROGRAMS_MAX && (r = bpf_prog_get_next_id(id, &id)) == 0; i++) {
		hash = hash_bytes(hash, &id, sizeof(id));
		*newest = id;
	}
	if (r != -EPERM)
		return hash;
	notice_programs(symbols);
	return hash_bytes(hash, &symbols->came_ns, sizeof(symbols->came_ns));
}

static bool is_young(const struct kernel_symbols *symbols, uint32_t program)
{
	_cleanup_close_ int fd = program ? bpf_prog_get_fd_by_id(program) : -1;
	struct bpf_prog_info info = {.load_time = symbols->came_ns};
	uint32_t bytes = sizeof(info);

	if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &bytes) < 0)
		return false;
	return clock_ns(CLOCK_BOOTTIME) - info.load_time < YOUNG_NS;
}

static int refresh_table(struct kernel_symbols *symbols)
{
	uint32_t newest, newest_after;
	uint64_t origin = origin_now(symbols, &newest);

	if (symbols->table.count && origin == symbols->origin && symbols->settled)
		return 0;
	_cleanup_(kernel_table_done) struct kernel_table table = {.list = BUF_INIT(LIST_MAX)};
	int r = read_table(&table);
	if (r < 0)
		return r;
	kernel_table_done(&symbols->table);
	symbols->table = table;
	table = (struct kernel_table){0};
	symbols->origin = origin;
	/* The kernel's list is read by position: what comes or goes meanwhile can hide another
	 * entry. */
	symbols->settled =
		!is_young(symbols, newest) && origin_now(symbols, &newest_after) == origin;
	symbols->text = kernel_table_address(&symbols->table, "_stext");
	symbols->text_end = kernel_table_address(&symbols->table, "_etext");
	return 0;
}

void kernel_symbols_read(struct kernel_symbols *symbols)
{
	if (!symbols->table.count && !symbols->error)
		symbols->error = refresh_table(symbols);
}

void kernel_symbols_begin(struct kernel_symbols *symbols)
{
	symbols->checked = false;
}

int kernel_symbols_error(const struct kernel_symbols *symbols)
{
	return symbols->error;
}

/*
 * Returns whether a BPF function begins at the address. An indirect jump that is guarded against
 * speculation puts its target where return addresses lie, so the byte before that is another
 * function's. (There is room between BPF functions, so no call or other instruction ends right
 * there.)
 */
static bool is_jumped_to(const struct kernel_table *table, uint64_t address,
			 struct kernel_function *ret)
{
	return kernel_table_find(table, address, ret) && ret->address == address &&
	       strncmp(ret->name, "bpf_prog_", 9) == 0;
}

static const char *name_of(struct kernel_symbols *symbols, const struct kernel_function *function)
{
	snprintf(symbols->name, sizeof(symbols->name), "%s%s", function->prefix, function->name);
	return symbols->name;
}

size_t kernel_symbols_section(const struct kernel_symbols *symbols, const char *first,
			      const char *last, uint64_t *starts, size_t max, uint64_t *end)
{
	uint64_t address = kernel_table_address(&symbols->table, first);
	struct kernel_function function;
	size_t count = 0;

	*end = kernel_table_address(&symbols->table, last);
	for (; address && address < *end; address += CODE_STEP) {
		if (!kernel_table_find(&symbols->table, address, &function) ||
		    (count && function.address == starts[count - 1]))
			continue;
		if (count == max)
			return 0;
		starts[count++] = function.address;
	}
	return count;
}

const char *kernel_symbols_find(struct kernel_symbols *symbols, uint64_t address)
{
	bool own = address >= symbols->text && address < symbols->text_end;
	struct kernel_function function;

	if (!own && !symbols->checked) {
		symbols->checked = true;
		symbols->error = refresh_table(symbols);
	}
	if (!own && is_jumped_to(&symbols->table, address + 1, &function))
		return name_of(symbols, &function);
	if (!kernel_table_find(&symbols->table, address, &function) ||
	    address - function.address > FUNCTION_MAX)
		return NULL;
	return name_of(symbols, &function);
}

int kernel_code_find(const char *const *names, struct kernel_range *ranges, size_t max)
{
	_cleanup_(free_file) FILE *file = fopen("/proc/kallsyms", "re");

	return file ? kernel_table_ranges(file, names, ranges, max) : -errno;
}
