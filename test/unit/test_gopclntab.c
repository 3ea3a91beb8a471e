// SPDX-License-Identifier: GPL-2.0-only
/* Tables of Go's functions: made by hand, in each format, and those of real programs. */
#include "elf_maker.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "look_up.h"
#include "unwind/gopclntab.h"
#include "unwind/rows.h"

#define GO_1_16	  0xfffffffaU
#define GO_1_18	  0xfffffff0U
#define GO_1_20	  0xfffffff1U

#define FUNCTIONS 32 /* of 32 bytes each: all of the code */
#define RBP	  6
#define RSP	  7

struct row {
	uint64_t address;
	struct rule rule;
};

struct rows {
	struct row *each;
	size_t count, capacity;
	const struct elf_image *image;
};

/* Rows come by address, equal neighbours once, all in executable code or right behind it. */
static int take_row(void *arg, uint64_t address, const struct rule *rule)
{
	struct rows *rows = arg;

	if (rows->count == rows->capacity) {
		rows->capacity = rows->capacity * 2 + 1024;
		rows->each = reallocarray(rows->each, rows->capacity, sizeof(*rows->each));
		assert_non_null(rows->each);
	}
	if (rows->count) {
		assert_true(address > rows->each[rows->count - 1].address);
		assert_false(rule_is_equal(rule, &rows->each[rows->count - 1].rule));
	}
	rows->each[rows->count++] = (struct row){address, *rule};
	return 0;
}

static void rows_free(struct rows *rows)
{
	free(rows->each);
}
#define _cleanup_rows_ _cleanup_(rows_free)

static int read_rows(int fd, struct rows *rows, struct cfi_stats *stats)
{
	struct elf_image image;
	int r = elf_read(fd, &image);

	rows->count = 0;
	if (r == 0)
		r = gopclntab_read(fd, &image, take_row, rows, stats);
	if (r == 0)
		assert_int_equal(rows->count, stats->rows);
	return r;
}

static const struct row *row_at(const struct rows *rows, uint64_t address)
{
	size_t low = 0, high = rows->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (rows->each[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &rows->each[low - 1] : NULL;
}

/* A function of a table made by hand: `steps` are pairs {delta, up to which byte}. */
struct function_plan {
	const char *name;
	uint8_t code[24]; /* what its first bytes are; the rest is filler */
	uint8_t flags;
	struct {
		int delta, to;
	} steps[6];
};

struct table_maker {
	uint32_t format;
	uint8_t data[0x4000];
	size_t len;
};

static void put(struct table_maker *maker, uint64_t value, size_t bytes)
{
	memcpy(maker->data + maker->len, &value, bytes);
	maker->len += bytes;
}

static void put_number(struct table_maker *maker, uint32_t value)
{
	for (; value >= 0x80; value >>= 7)
		put(maker, (value & 0x7f) | 0x80, 1);
	put(maker, value, 1);
}

static void put_steps(struct table_maker *maker, const struct function_plan *plan)
{
	int delta = -1, at = 0;

	for (size_t i = 0; i < ARRAY_SIZE(plan->steps) && plan->steps[i].to; i++) {
		int change = plan->steps[i].delta - delta;

		put_number(maker, (uint32_t)change << 1 ^ (uint32_t)(change >> 31));
		put_number(maker, (uint32_t)(plan->steps[i].to - at));
		delta = plan->steps[i].delta;
		at = plan->steps[i].to;
	}
	put(maker, 0, 1);
}

static void put_record(struct table_maker *maker, uint32_t start, uint32_t name, uint32_t steps,
		       uint8_t flags)
{
	if (maker->format == GO_1_16)
		put(maker, CODE_ADDRESS + start, 8);
	else
		put(maker, start, 4);
	const uint32_t words[] = {name, 0, 0, steps, 0, 0, 0, 0, 0};
	for (size_t i = 0; i < (maker->format == GO_1_20 ? 9 : 8); i++)
		put(maker, words[i], 4);
	put(maker, (uint64_t)flags << 8, 4);
}

/* The last functions are plain ones. */
static size_t make_table(struct table_maker *maker, uint32_t format, bool told,
			 const struct function_plan *plans, size_t count)
{
	static const struct function_plan plain = {"main.plain", {0xc3}, 0, {{0, 32}}};
	uint32_t names[FUNCTIONS], steps[FUNCTIONS], places[5];
	size_t header = format == GO_1_16 ? 8 + 7 * 8 : 8 + 8 * 8;
	bool old = format == GO_1_16;
	size_t records[FUNCTIONS];

	*maker = (struct table_maker){.format = format, .len = header};
	places[0] = places[1] = places[2] = (uint32_t)maker->len;
	for (size_t i = 0; i < FUNCTIONS; i++) {
		const struct function_plan *plan = i < count ? &plans[i] : &plain;

		names[i] = (uint32_t)maker->len - places[0];
		memcpy(maker->data + maker->len, plan->name, strlen(plan->name) + 1);
		maker->len += strlen(plan->name) + 1;
	}
	places[3] = (uint32_t)maker->len;
	put(maker, 0, 1);
	for (size_t i = 0; i < FUNCTIONS; i++) {
		const struct function_plan *plan = i < count ? &plans[i] : &plain;

		steps[i] = plan->steps[0].to ? (uint32_t)maker->len - places[3] : 0;
		put_steps(maker, plan);
	}
	maker->len = (maker->len + 7) & ~(size_t)7;
	places[4] = (uint32_t)maker->len;
	size_t table = maker->len;
	maker->len += (FUNCTIONS + 1) * (old ? 16 : 8);
	for (size_t i = 0; i < FUNCTIONS; i++) {
		records[i] = maker->len - table;
		put_record(maker, (uint32_t)i * 32, names[i], steps[i],
			   i < count ? plans[i].flags : 0);
	}
	size_t end = maker->len;
	maker->len = 0;
	put(maker, format, 4);
	put(maker, 8ULL << 24 | 1 << 16, 4);
	put(maker, FUNCTIONS, 8);
	put(maker, 0, 8);
	if (!old)
		put(maker, told ? CODE_ADDRESS : 0, 8);
	for (size_t i = 0; i < 5; i++)
		put(maker, places[i], 8);
	maker->len = table;
	for (size_t i = 0; i <= FUNCTIONS; i++) {
		put(maker, (old ? CODE_ADDRESS : 0) + i * 32, old ? 8 : 4);
		put(maker, i < FUNCTIONS ? records[i] : 0, old ? 8 : 4);
	}
	maker->len = end;
	return end;
}

static int go_file(uint32_t format, bool told, const struct function_plan *plans, size_t count)
{
	static struct table_maker table;
	static struct elf_maker elf;
	struct section_plan section = {".gopclntab", table.data, 0};
	struct elf_plan plan = {.sections = &section, .sections_count = 1};

	section.bytes = make_table(&table, format, told, plans, count);
	size_t bytes = elf_make(&elf, &plan);
	unsigned char *code = elf.image + CODE_OFFSET;
	memset(code, 0xcc, CODE_BYTES);
	for (size_t i = 0; i < FUNCTIONS; i++) {
		code[i * 32] = 0xc3;
		if (i < count && plans[i].code[0])
			memcpy(code + i * 32, plans[i].code, sizeof(plans[i].code));
	}
	return file_of(elf.image, bytes);
}

static const struct function_plan plans[] = {
	/* push %rbp; mov %rsp,%rbp; sub $24,%rsp; … pop %rbp; ret */
	{"main.new",
	 {0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x18},
	 0,
	 {{0, 1}, {8, 8}, {32, 20}, {8, 21}, {0, 32}}},
	/* sub $24,%rsp; mov %rbp,16(%rsp); lea 16(%rsp),%rbp */
	{"main.old",
	 {0x48, 0x83, 0xec, 0x18, 0x48, 0x89, 0x6c, 0x24, 0x10, 0x48, 0x8d, 0x6c, 0x24, 0x10},
	 0,
	 {{0, 4}, {24, 28}, {0, 32}}},
	/* sub $24,%rsp, and rbp isn't saved */
	{"main.bare", {0x48, 0x83, 0xec, 0x18, 0x90}, 0, {{0, 4}, {24, 28}, {0, 32}}},
	/* push %r13 isn't push %rbp */
	{"main.other", {0x41, 0x55, 0x90}, 0, {{0, 2}, {8, 28}, {0, 32}}},
	{"runtime.goexit", {0x90}, 1, {{0, 32}}},
	{"runtime.systemstack.abi0", {0x55, 0x48, 0x89, 0xe5}, 2, {{0, 1}, {8, 30}, {0, 32}}},
	/* ...; mov 56(%r14),%rsp; push %rax */
	{"runtime.mcall",
	 {0x55, 0x48, 0x89, 0xe5, 0x49, 0x8b, 0x66, 0x38, 0x50},
	 2,
	 {{0, 1}, {8, 9}, {16, 30}, {8, 31}, {0, 32}}},
	/* nop; mov 56(%rbx),%rsp */
	{"runtime.morestack", {0x90, 0x48, 0x8b, 0x63, 0x38}, 2, {{0, 32}}},
	{"runtime.sigreturn__sigaction", {0x90}, 0, {{0, 32}}},
	{"runtime.asyncPreempt", {0x55, 0x48, 0x89, 0xe5}, 0, {{0, 1}, {8, 32}}},
	{"syscall.rawVforkSyscall", {0x90, 0x41, 0x5c, 0x90}, 0, {{0, 3}, {-8, 8}, {0, 32}}},
	{"none", {0x90}, 0, {{0, 0}}},
	{"runtime.sigtramp", {0x9c, 0x90}, 1, {{0, 1}, {8, 30}, {0, 32}}},
	/* nop; mov (%rbx),%rsp */
	{"gogo", {0x90, 0x48, 0x8b, 0x23}, 2, {{0, 32}}},
	{"main.broken", {0x90}, 0, {{0, 4}, {-16, 8}, {0, 32}}},
};

enum {
	NEW,
	OLD,
	BARE,
	OTHER,
	GOEXIT,
	SYSTEMSTACK,
	MCALL,
	MORESTACK,
	SIGRETURN,
	PREEMPT,
	VFORK,
	NONE,
	SIGTRAMP,
	GOGO,
	BROKEN
};

static const struct rule *rule_at(const struct rows *rows, unsigned function, unsigned byte)
{
	const struct row *row = row_at(rows, CODE_ADDRESS + function * 32 + byte);

	assert_non_null(row);
	return &row->rule;
}

static void assert_cfa(const struct rows *rows, unsigned function, unsigned byte, unsigned reg,
		       int offset, enum saved_kind fp)
{
	const struct rule *rule = rule_at(rows, function, byte);

	assert_int_equal(rule->kind, RULE_CFA);
	assert_int_equal(rule->cfa_reg, reg);
	assert_int_equal(rule->cfa_offset, offset);
	assert_int_equal(rule->fp.kind, fp);
	if (fp == SAVED_AT_CFA)
		assert_int_equal(rule->fp.offset, -16);
	assert_int_equal(rule->ra.kind, SAVED_AT_CFA);
	assert_int_equal(rule->ra.offset, -8);
}

static void each_format_has_the_same_rows(void **state)
{
	static const uint32_t formats[] = {GO_1_20, GO_1_18, GO_1_16};
	_cleanup_rows_ struct rows first = {0};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(formats); i++) {
		_cleanup_close_ int fd = go_file(formats[i / 2], i & 1, plans, ARRAY_SIZE(plans));
		_cleanup_rows_ struct rows rows = {0};
		struct cfi_stats stats;

		assert_int_equal(read_rows(fd, i ? &rows : &first, &stats), 0);
		assert_int_equal(stats.functions, FUNCTIONS);
		assert_int_equal(stats.broken, 0);
		if (i == 0)
			continue;
		assert_int_equal(rows.count, first.count);
		for (size_t k = 0; k < rows.count; k++) {
			assert_int_equal(rows.each[k].address, first.each[k].address);
			assert_true(rule_is_equal(&rows.each[k].rule, &first.each[k].rule));
		}
	}
}

static void a_saved_frame_pointer_is_told_where_the_code_saves_it(void **state)
{
	_cleanup_close_ int fd = go_file(GO_1_20, true, plans, ARRAY_SIZE(plans));
	_cleanup_rows_ struct rows rows = {0};
	struct cfi_stats stats;

	(void)state;
	assert_int_equal(read_rows(fd, &rows, &stats), 0);
	assert_cfa(&rows, NEW, 0, RSP, 8, SAVED_SAME);
	assert_cfa(&rows, NEW, 1, RSP, 16, SAVED_AT_CFA);
	assert_cfa(&rows, NEW, 8, RSP, 40, SAVED_AT_CFA);
	assert_cfa(&rows, NEW, 20, RSP, 16, SAVED_AT_CFA);
	assert_cfa(&rows, NEW, 21, RSP, 8, SAVED_SAME);
	assert_cfa(&rows, OLD, 3, RSP, 8, SAVED_SAME);
	assert_cfa(&rows, OLD, 4, RSP, 32, SAVED_SAME); /* it is saved next */
	assert_cfa(&rows, OLD, 9, RSP, 32, SAVED_AT_CFA);
	assert_cfa(&rows, OLD, 28, RSP, 8, SAVED_SAME);
	assert_cfa(&rows, BARE, 4, RSP, 32, SAVED_LOST);
	assert_cfa(&rows, OTHER, 2, RSP, 16, SAVED_LOST);
	assert_cfa(&rows, OTHER, 28, RSP, 8, SAVED_SAME);
}

static void functions_that_switch_stacks_are_left_by_the_frame_pointer(void **state)
{
	_cleanup_close_ int fd = go_file(GO_1_20, true, plans, ARRAY_SIZE(plans));
	_cleanup_rows_ struct rows rows = {0};
	struct cfi_stats stats;

	(void)state;
	assert_int_equal(read_rows(fd, &rows, &stats), 0);
	assert_cfa(&rows, SYSTEMSTACK, 0, RSP, 8, SAVED_SAME);
	assert_cfa(&rows, SYSTEMSTACK, 1, RSP, 16, SAVED_AT_CFA);
	assert_cfa(&rows, SYSTEMSTACK, 4, RBP, 16, SAVED_AT_CFA);
	assert_cfa(&rows, SYSTEMSTACK, 29, RBP, 16, SAVED_AT_CFA);
	assert_true(rule_at(&rows, SYSTEMSTACK, 29)->signal); /* it may be on a lower stack */
	assert_cfa(&rows, SYSTEMSTACK, 30, RSP, 8, SAVED_SAME);
	assert_cfa(&rows, MCALL, 4, RBP, 16, SAVED_AT_CFA);
	assert_int_equal(rule_at(&rows, MCALL, 8)->kind, RULE_END);
	assert_int_equal(rule_at(&rows, MCALL, 30)->kind, RULE_END);
	assert_cfa(&rows, MORESTACK, 1, RSP, 8, SAVED_SAME);
	assert_int_equal(rule_at(&rows, MORESTACK, 2)->kind, RULE_END);
	assert_int_equal(rule_at(&rows, MORESTACK, 30)->kind, RULE_END);
	assert_cfa(&rows, GOGO, 1, RSP, 8, SAVED_SAME);
	assert_int_equal(rule_at(&rows, GOGO, 2)->kind, RULE_UNSUPPORTED);
	assert_int_equal(rule_at(&rows, GOGO, 30)->kind, RULE_UNSUPPORTED);
	assert_int_equal(stats.unsupported[UNSUPPORTED_CFA_EXPRESSION], 1);
}

static void roots_and_what_signals_made_are_told(void **state)
{
	_cleanup_close_ int fd = go_file(GO_1_20, true, plans, ARRAY_SIZE(plans));
	_cleanup_rows_ struct rows rows = {0};
	struct cfi_stats stats;
	const struct rule *rule;

	(void)state;
	assert_int_equal(read_rows(fd, &rows, &stats), 0);
	assert_int_equal(rule_at(&rows, GOEXIT, 0)->kind, RULE_END);
	assert_int_equal(rule_at(&rows, NONE, 0)->kind, RULE_NONE);
	assert_int_equal(rows.each[rows.count - 1].rule.kind, RULE_NONE);
	assert_int_equal(rows.each[rows.count - 1].address, CODE_ADDRESS + FUNCTIONS * 32);
	assert_cfa(&rows, SIGTRAMP, 1, RSP, 16, SAVED_LOST);
	assert_cfa(&rows, PREEMPT, 4, RSP, 16, SAVED_AT_CFA);
	assert_true(rule_at(&rows, PREEMPT, 4)->signal);
	assert_false(rule_at(&rows, NEW, 4)->signal);
	rule = rule_at(&rows, SIGRETURN, 0);
	assert_true(rule->kind == RULE_CFA && rule->signal && rule->cfa_deref);
	assert_true(rule->ra.kind == SAVED_AT_REG && rule->ra.offset == 168);
	/* Handlers return to its first byte: it is looked up at the one before. */
	assert_true(rule_is_equal(rule, rule_at(&rows, SIGRETURN - 1, 31)));
	rule = rule_at(&rows, VFORK, 3);
	assert_true(rule->kind == RULE_CFA && rule->cfa_reg == RSP && rule->cfa_offset == 0);
	assert_true(rule->ra.kind == SAVED_LOST && rule->ra.reg == 12);
	assert_cfa(&rows, VFORK, 8, RSP, 8, SAVED_SAME);
	assert_int_equal(rule_at(&rows, BROKEN, 4)->kind, RULE_UNSUPPORTED);
	assert_int_equal(stats.unsupported[UNSUPPORTED_CFA_OFFSET], 1);
}

static void a_stripped_program_has_the_names_of_the_table(void **state)
{
	_cleanup_program_ struct program program = {
		go_file(GO_1_20, true, plans, ARRAY_SIZE(plans)), -1};
	struct looked_up found;

	(void)state;
	assert_int_equal(look_up(&program, CODE_OFFSET + BARE * 32 + 7, &found), 0);
	assert_string_equal(found.name, "main.bare");
	assert_int_equal(found.address, CODE_ADDRESS + BARE * 32);
	assert_int_equal(look_up(&program, CODE_OFFSET + CODE_BYTES - 32, &found), 0);
	assert_string_equal(found.name, "main.plain");
	assert_int_equal(look_up(&program, CODE_OFFSET + CODE_BYTES - 1, &found), 0);
	assert_string_equal(found.name, ""); /* a filler */
}

static void files_of_others_have_none(void **state)
{
	struct elf_plan plain = {0};
	_cleanup_close_ int fd = elf_file(&plain);
	_cleanup_close_ int self = open("/proc/self/exe", O_RDONLY);
	_cleanup_rows_ struct rows rows = {0};
	struct cfi_stats stats;

	(void)state;
	assert_int_equal(read_rows(fd, &rows, &stats), -ENOENT);
	assert_int_equal(read_rows(self, &rows, &stats), -ENOENT);
	assert_int_equal(rows.count, 0);
}

/* A file as it is, to be changed. */
static size_t read_whole(const char *path, char **data)
{
	_cleanup_close_ int fd = open(path, O_RDONLY);
	struct stat stat;

	if (fd < 0 || fstat(fd, &stat) < 0)
		return 0;
	*data = malloc((size_t)stat.st_size);
	assert_non_null(*data);
	assert_int_equal(elf_pread(fd, *data, (size_t)stat.st_size, 0), 0);
	return (size_t)stat.st_size;
}

/* go is not there: build/test/programs/gowork isn't either. */
#define GOWORK	 "build/test/programs/gowork"
#define GOCALLS	 "build/test/programs/gocalls"
#define STRIPPED "build/test/programs/gowork_stripped"

static size_t demand_program(const char *path, char **data)
{
	size_t bytes = read_whole(path, data);

	if (!bytes) {
		print_message("%s is not built\n", path);
		skip();
	}
	return bytes;
}

static void broken_tables_give_an_error_or_rows_in_order(void **state)
{
	_cleanup_free_ char *data = NULL;
	uint64_t seed = 5, at = 0;
	struct elf_image image;
	struct cfi_stats stats;
	unsigned failed = 0;

	(void)state;
	int original = go_file(GO_1_20, false, plans, ARRAY_SIZE(plans));
	assert_int_equal(elf_read(original, &image), 0);
	size_t bytes = image.file_bytes;
	data = malloc(bytes);
	assert_non_null(data);
	assert_int_equal(elf_pread(original, data, bytes, 0), 0);
	for (unsigned i = 0; i < 20000; i++) {
		_cleanup_rows_ struct rows rows = {0};
		char before[8];

		at = image.gopclntab.offset + random_next(&seed) % (image.gopclntab.bytes - 8);
		memcpy(before, data + at, 8);
		uint64_t value = random_next(&seed);
		memcpy(data + at, &value, 1 + random_next(&seed) % 8);
		_cleanup_close_ int fd = file_of(data, bytes);
		failed += read_rows(fd, &rows, &stats) < 0;
		_cleanup_program_ struct program program = {dup(fd), -1};
		struct looked_up found;
		assert_int_equal(look_up(&program, CODE_OFFSET + BARE * 32, &found), 0);
		memcpy(data + at, before, 8);
	}
	close(original);
	assert_true(failed > 0);
	assert_true(failed < 10000);
}

/* What readelf tells of .debug_frame and .eh_frame: Go tells the CFA there, by the stack pointer.
 * `special`: rows of other kinds. */
static unsigned compare_rows(const struct rows *rows, const char *path, unsigned *special)
{
	char line[512], command[256];
	unsigned compared = 0;

	snprintf(command, sizeof(command), "readelf --debug-dump=frames-interp %s 2>/dev/null",
		 path);
	FILE *readelf = popen(command, "r");
	assert_non_null(readelf);
	*special = 0;
	while (fgets(line, sizeof(line), readelf)) {
		unsigned long address;
		int offset;

		if (sscanf(line, "%16lx rsp%d", &address, &offset) != 2 || !address)
			continue;
		const struct row *row = row_at(rows, address);
		assert_non_null(row);
		compared++;
		if (row->rule.kind == RULE_CFA && row->rule.cfa_reg == RSP && !row->rule.cfa_deref)
			assert_int_equal(row->rule.cfa_offset, offset);
		else
			++*special;
	}
	pclose(readelf);
	return compared;
}

static void rows_are_those_of_debug_frame(void **state)
{
	_cleanup_free_ char *data = NULL;
	_cleanup_rows_ struct rows rows = {0};
	_cleanup_close_ int fd = open(GOWORK, O_RDONLY);
	struct cfi_stats stats;
	unsigned special;

	(void)state;
	demand_program(GOWORK, &data);
	assert_int_equal(read_rows(fd, &rows, &stats), 0);
	assert_int_equal(stats.broken, 0);
	assert_int_equal(stats.overlapping, 0);
	assert_true(compare_rows(&rows, GOWORK, &special) > 5000);
	assert_true(special < 100); /* roots, signals, functions that switch stacks */
}

static void a_program_of_go_and_c_has_the_rows_of_both(void **state)
{
	_cleanup_free_ char *data = NULL;
	_cleanup_rows_ struct rows rows = {0};
	_cleanup_close_ int fd = open(GOCALLS, O_RDONLY);
	struct elf_image image;
	struct cfi_stats stats;
	unsigned special;
	uint64_t start, end;

	(void)state;
	demand_program(GOCALLS, &data);
	assert_int_equal(elf_read(fd, &image), 0);
	assert_int_equal(gopclntab_range(fd, &image, &start, &end), 0);
	assert_int_equal(rows_read(fd, &image, take_row, &rows, &stats), 0);
	assert_int_equal(stats.broken, 0);
	assert_true(rows.each[0].address < start);
	assert_true(rows.each[rows.count - 1].address > end);
	assert_true(compare_rows(&rows, GOCALLS, &special) > 5000);
	assert_true(special < 100);
}

/* Stripping moves no code. Without sections the table is found by its first word. */
static void a_stripped_program_has_the_same_rows(void **state)
{
	_cleanup_free_ char *data = NULL, *stripped = NULL;
	_cleanup_rows_ struct rows rows = {0}, bare = {0};
	_cleanup_close_ int fd = open(GOWORK, O_RDONLY);
	struct cfi_stats stats;

	(void)state;
	demand_program(GOWORK, &data);
	assert_int_equal(read_rows(fd, &rows, &stats), 0);
	size_t bytes = demand_program(STRIPPED, &stripped);
	Elf64_Ehdr *header = (void *)stripped;
	header->e_shoff = header->e_shnum = header->e_shstrndx = 0;
	_cleanup_close_ int without = file_of(stripped, bytes);
	assert_int_equal(read_rows(without, &bare, &stats), 0);
	assert_int_equal(bare.count, rows.count);
	for (size_t i = 0; i < rows.count; i++) {
		assert_int_equal(bare.each[i].address, rows.each[i].address);
		assert_true(rule_is_equal(&bare.each[i].rule, &rows.each[i].rule));
	}
}

/* All along the code; only assembly has a suffix in .symtab that the table hasn't. */
static void a_stripped_program_has_the_same_names(void **state)
{
	static struct native_function with[10000], without[10000];
	_cleanup_buf_ struct buf names = BUF_INIT(1 << 24), bare = BUF_INIT(1 << 24);
	_cleanup_close_ int fd = open(GOWORK, O_RDONLY), stripped = open(STRIPPED, O_RDONLY);
	unsigned same = 0, named = 0;
	struct elf_image image;

	(void)state;
	if (fd < 0 || stripped < 0) {
		print_message(GOWORK " is not built\n");
		skip();
	}
	assert_int_equal(elf_read(fd, &image), 0);
	uint64_t step = image.segments[0].file_bytes / ARRAY_SIZE(with);
	for (size_t i = 0; i < ARRAY_SIZE(with); i++)
		with[i].offset = without[i].offset = image.segments[0].file_offset + i * step;
	assert_int_equal(native_resolve(fd, -1, with, ARRAY_SIZE(with), &names), 0);
	assert_int_equal(native_resolve(stripped, -1, without, ARRAY_SIZE(with), &bare), 0);
	for (size_t i = 0; i < ARRAY_SIZE(with); i++) {
		assert_int_equal(with[i].offset, without[i].offset);
		if (with[i].name == NATIVE_NO_NAME) { /* a filler */
			assert_int_equal(without[i].name, NATIVE_NO_NAME);
			continue;
		}
		assert_true(without[i].name != NATIVE_NO_NAME);
		const char *name = names.data + with[i].name, *other = bare.data + without[i].name;
		same += strncmp(name, other, strlen(other)) == 0;
		named++;
	}
	assert_true(named > ARRAY_SIZE(with) * 3 / 4);
	assert_true(same > named * 99 / 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_format_has_the_same_rows),
		cmocka_unit_test(a_saved_frame_pointer_is_told_where_the_code_saves_it),
		cmocka_unit_test(functions_that_switch_stacks_are_left_by_the_frame_pointer),
		cmocka_unit_test(roots_and_what_signals_made_are_told),
		cmocka_unit_test(a_stripped_program_has_the_names_of_the_table),
		cmocka_unit_test(files_of_others_have_none),
		cmocka_unit_test(broken_tables_give_an_error_or_rows_in_order),
		cmocka_unit_test(rows_are_those_of_debug_frame),
		cmocka_unit_test(a_program_of_go_and_c_has_the_rows_of_both),
		cmocka_unit_test(a_stripped_program_has_the_same_rows),
		cmocka_unit_test(a_stripped_program_has_the_same_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
