// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where events are in a file: in the program `points` (test/programs/events/points.c), whose
 * functions, static probes and semaphore libelf finds by itself here, and in copies of it that are
 * damaged.
 */
#include "unit/proc/elf_maker.h"

#include <fcntl.h>
#include <gelf.h>

#include "event/event_points.h"
#include "proc/elf.h"

#define PROGRAM	  "build/test/programs/points"
#define GO	  "build/test/programs/gowork"
#define NOTES	  ".note.stapsdt"
#define BYTES_MAX (1024 * 1024)
#define FAR	  64 /* a point is at most that far behind its function's begin */
#define HEAD	  (sizeof(Elf64_Nhdr) + sizeof("stapsdt"))

/* ---- the program, by libelf ---- */

struct truth {
	unsigned char *file;
	size_t bytes;
	size_t notes, notes_bytes; /* the section of the notes, in the file */
	size_t notes_header;	   /* its Elf64_Shdr, in the file */
	uint64_t base;		   /* address of .stapsdt.base */
};

static struct truth truth;

static void find_sections(Elf *elf)
{
	size_t names = 0;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Ehdr file;

	assert_non_null(gelf_getehdr(elf, &file));
	assert_int_equal(elf_getshdrstrndx(elf, &names), 0);
	while ((section = elf_nextscn(elf, section)) && gelf_getshdr(section, &header)) {
		const char *name = elf_strptr(elf, names, header.sh_name);

		if (strcmp(name, ".stapsdt.base") == 0)
			truth.base = header.sh_addr;
		if (strcmp(name, NOTES) != 0)
			continue;
		truth.notes = header.sh_offset;
		truth.notes_bytes = header.sh_size;
		truth.notes_header = file.e_shoff + elf_ndxscn(section) * sizeof(Elf64_Shdr);
	}
}

static int read_program(void **state)
{
	_cleanup_close_ int fd = open(PROGRAM, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	(void)state;
	elf_version(EV_CURRENT);
	if (fd < 0) {
		print_message(PROGRAM " is not built\n");
		return -1;
	}
	truth.file = malloc(BYTES_MAX);
	assert_non_null(truth.file);
	n = read(fd, truth.file, BYTES_MAX);
	assert_true(n > 0 && n < BYTES_MAX);
	truth.bytes = (size_t)n;
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	assert_non_null(elf);
	find_sections(elf);
	elf_end(elf);
	assert_true(truth.notes_bytes > 0);
	return 0;
}

static int free_program(void **state)
{
	(void)state;
	free(truth.file);
	return 0;
}

/* Returns the file offset of a linked address. */
static uint64_t offset_of(Elf *elf, uint64_t address)
{
	size_t count = 0;
	GElf_Phdr segment;

	assert_int_equal(elf_getphdrnum(elf, &count), 0);
	for (size_t i = 0; i < count; i++) {
		assert_non_null(gelf_getphdr(elf, (int)i, &segment));
		if (segment.p_type == PT_LOAD && address - segment.p_vaddr < segment.p_filesz)
			return address - segment.p_vaddr + segment.p_offset;
	}
	fail_msg("no segment has %#llx", (unsigned long long)address);
	return 0;
}

/* A symbol's place in the file. */
struct span {
	uint64_t offset, bytes;
};

static bool find_symbol(Elf *elf, Elf_Scn *section, const char *name, struct span *span)
{
	GElf_Shdr header;
	GElf_Sym symbol;
	Elf_Data *data = elf_getdata(section, NULL);

	if (!gelf_getshdr(section, &header) || header.sh_type != SHT_SYMTAB)
		return false;
	for (int i = 0; gelf_getsym(data, i, &symbol); i++) {
		if (strcmp(elf_strptr(elf, header.sh_link, symbol.st_name), name) != 0)
			continue;
		*span = (struct span){offset_of(elf, symbol.st_value), symbol.st_size};
		return true;
	}
	return false;
}

static struct span span_of(const char *name)
{
	_cleanup_close_ int fd = open(PROGRAM, O_RDONLY | O_CLOEXEC);
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	struct span span = {0};
	bool found = false;

	assert_non_null(elf);
	for (Elf_Scn *section = NULL; !found && (section = elf_nextscn(elf, section));)
		found = find_symbol(elf, section, name, &span);
	elf_end(elf);
	if (!found)
		fail_msg(PROGRAM " has no %s", name);
	return span;
}

/* ---- what is found ---- */

static struct event_points points;
static struct near_names near;
static struct why why;

static struct event_text text_of(const char *text)
{
	struct event_text event;

	if (event_text_read(&event, text, &why) < 0)
		fail_msg("%s: %s", text, why.text);
	return event;
}

/* Finds an event in a file; `word`: near names are wanted. */
static int find_in(int fd, const char *text, const char *word, bool with_return)
{
	struct event_text event = text_of(text);

	near = (struct near_names){.word = word};
	why.text[0] = '\0';
	memset(&points, 0xff, sizeof(points));
	int r = event_points_find(fd, &event, with_return, &points, word ? &near : NULL, &why);
	if (r < 0 && !why.text[0])
		fail_msg("nothing is said of error %d", r);
	return r;
}

static int find(const char *text, const char *word)
{
	_cleanup_close_ int fd = open(PROGRAM, O_RDONLY | O_CLOEXEC);

	return find_in(fd, text, word, false);
}

static void assert_within(uint64_t offset, const struct span *span)
{
	if (offset - span->offset >= span->bytes)
		fail_msg("%#llx is not in %#llx to %#llx", (unsigned long long)offset,
			 (unsigned long long)span->offset,
			 (unsigned long long)(span->offset + span->bytes));
}

/* ---- functions ---- */

static void a_function_has_one_point_near_its_begin(void **state)
{
	static const char *const names[] = {"event_tick", "event_nap", "event_dig", "run_ticks",
					    "main"};
	char text[80];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct span span = span_of(names[i]);

		snprintf(text, sizeof(text), "u:/points:%s", names[i]);
		assert_int_equal(find(text, NULL), 0);
		assert_int_equal(points.count, 1);
		assert_within(points.all[0].offset, &span);
		assert_true(points.all[0].offset < span.offset + FAR);
		assert_int_equal(points.all[0].call, CALL_SIZE);
		assert_int_equal(points.all[0].cookie, 0);
		assert_int_equal(points.all[0].counter, 0);
	}
}

static void only_a_whole_name_in_its_case_is_a_function(void **state)
{
	static const char *const texts[] = {"u:/points:event_tic", "u:/points:event_tickk",
					    "u:/points:vent_tick", "u:/points:Event_tick",
					    "u:/points:points.c",  "u:/points:printf"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(find(texts[i], NULL), -ENOENT);
}

static void a_variable_is_no_function(void **state)
{
	(void)state;
	span_of("points_gated_semaphore");
	assert_int_equal(find("u:/points:points_gated_semaphore", NULL), -ENOENT);
}

static void a_missing_function_is_said_with_those_that_may_be_meant(void **state)
{
	(void)state;
	assert_int_equal(find("u:/points:event_tuck", "event_tuck"), -ENOENT);
	assert_string_equal(why.text, "/points has no function event_tuck. Is it event_tick?");
	assert_int_equal(points.count, 0);
	assert_int_equal(find("u:/points:event_tuck", NULL), -ENOENT);
	assert_string_equal(why.text, "/points has no function event_tuck.");
	assert_int_equal(find("u:/points:zzzzzz", "zzzzzz"), -ENOENT);
	assert_string_equal(why.text, "/points has no function zzzzzz.");
}

static void only_functions_are_near_names(void **state)
{
	(void)state;
	assert_int_equal(find("u:/points:points_gated_semaphor", "points_gated_semaphor"), -ENOENT);
	assert_string_equal(why.text, "/points has no function points_gated_semaphor.");
}

static void a_name_that_is_too_long_for_a_symbol_is_missing(void **state)
{
	char text[EVENT_WHAT_BYTES];

	(void)state;
	for (size_t bytes = 253; bytes < 260; bytes++) {
		memset(text, 'x', sizeof(text));
		memcpy(text, "u:/p:", 5);
		text[5 + bytes] = '\0';
		assert_int_equal(find(text, "x"), -ENOENT);
	}
}

#if defined(__x86_64__) /* the files that are made are of it */

/* ---- symbols of one name ---- */

/* Finds the function f in a file with these symbols; the code is zeros. */
static int find_f(const struct symbol_plan *symbols, size_t count)
{
	const struct elf_plan plan = {.symbols = symbols, .symbols_count = count};
	_cleanup_close_ int fd = elf_file(&plan);

	return find_in(fd, "u:/made:f", NULL, false);
}

static void functions_of_one_name_are_all_points(void **state)
{
	static const struct symbol_plan symbols[] = {
		FUNCTION("f", 0x20, 8), FUNCTION("g", 0x28, 8), FUNCTION("f", 0x30, 8),
		FUNCTION("f", 0x20, 8), /* the same again */
	};

	(void)state;
	assert_int_equal(find_f(symbols, ARRAY_SIZE(symbols)), 0);
	assert_int_equal(points.count, 2);
	assert_int_equal(points.all[0].offset, CODE_OFFSET + 0x20);
	assert_int_equal(points.all[1].offset, CODE_OFFSET + 0x30);
}

static void data_in_the_code_is_no_function(void **state)
{
	static const struct symbol_plan symbols[] = {
		{"f", 0x20, 8, STT_OBJECT, STB_GLOBAL, false},
		{"f", 0x28, 8, STT_NOTYPE, STB_GLOBAL, false},
		{"f", 0x30, 8, STT_SECTION, STB_LOCAL, false},
	};

	(void)state;
	assert_int_equal(find_f(symbols, ARRAY_SIZE(symbols)), -ENOENT);
}

static void more_functions_than_points_are_refused(void **state)
{
	static struct symbol_plan symbols[EVENT_POINTS_MAX + 1];

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(symbols); i++)
		symbols[i] = (struct symbol_plan)FUNCTION("f", 4 + 4 * i, 4);
	assert_int_equal(find_f(symbols, EVENT_POINTS_MAX), 0);
	assert_int_equal(points.count, EVENT_POINTS_MAX);
	assert_int_equal(find_f(symbols, EVENT_POINTS_MAX + 1), -E2BIG);
	assert_string_equal(why.text, "/made has more than 128 such points");
}

/* ---- points that are cheap ---- */

/* Returns how far behind its begin the point of a function of such code is. */
static uint64_t point_of_code(const void *code, size_t bytes, bool with_return)
{
	static uint8_t all[CODE_BYTES];
	const struct symbol_plan symbol = FUNCTION("f", 0x40, (uint32_t)bytes);
	const struct elf_plan plan = {.symbols = &symbol, .symbols_count = 1, .code = all};

	memset(all, 0xcc, sizeof(all));
	memcpy(all + 0x40, code, bytes);
	_cleanup_close_ int fd = elf_file(&plan);
	assert_int_equal(find_in(fd, "u:/made:f", NULL, with_return), 0);
	assert_int_equal(points.count, 1);
	return points.all[0].offset - CODE_OFFSET - 0x40;
}

#define POINT_OF(code, with_return) point_of_code(code, sizeof(code) - 1, with_return)

static void a_point_is_where_a_probe_is_cheap(void **state)
{
	(void)state;
	assert_int_equal(POINT_OF("\xf3\x0f\x1e\xfa\x55\xc3", false), 4);     /* endbr64; push */
	assert_int_equal(POINT_OF("\x48\x85\xff\x74\x01\x90\xc3", false), 3); /* test; je; nop */
	assert_int_equal(POINT_OF("\x48\x89\xf8\xc3", false), 0);	      /* mov; ret */
}

/* sub $24,%rsp; call: there the return address isn't on top of the stack. */
static void where_the_return_is_wanted_nothing_is_pushed_before_the_point(void **state)
{
	static const char code[] = "\x48\x83\xec\x18\xe8\0\0\0\0\xc3";

	(void)state;
	assert_int_equal(POINT_OF(code, false), 4);
	assert_int_equal(POINT_OF(code, true), 0);
}

/* xor %eax,%eax; 2: inc %rax; cmp %rdi,%rax; jne 2b; ret: what GCC makes of do … while. The jne is
 * cheap, but a call passes it many times. */
static void a_point_is_passed_once_a_call(void **state)
{
	(void)state;
	assert_int_equal(POINT_OF("\x31\xc0\x48\x83\xc0\x01\x48\x39\xf8\x75\xf7\xc3", false), 0);
	/* the same loop behind the point: test; je 1f; … */
	assert_int_equal(POINT_OF("\x48\x85\xff\x74\x0b\x31\xc0\x48\x83\xc0\x01\x48\x39\xf8\x75"
				  "\xf7\xc3",
				  false),
			 3);
}

/* xor %eax,%eax; 2: test %rdi,%rdi; je 1f; … 100 bytes …; jmp 2b; 1: ret */
static void a_loop_may_end_far_behind_the_point(void **state)
{
	static unsigned char code[128] = "\x31\xc0\x48\x85\xff\x74\x70";

	(void)state;
	memset(code + 7, 0x90, 110);
	memcpy(code + 117, "\xeb\x8b\xc3", 3); /* to 2 */
	assert_int_equal(point_of_code(code, 120, false), 0);
	memcpy(code + 117, "\xeb\x8e\xc3", 3); /* to 5, the je itself */
	assert_int_equal(point_of_code(code, 120, false), 0);
	memcpy(code + 117, "\xeb\x90\xc3", 3); /* to 7, behind the je */
	assert_int_equal(point_of_code(code, 120, false), 5);
}

static bool steps(const char *code, size_t bytes)
{
	point_of_code(code, bytes, true);
	return points.stepped;
}

#define STEPS(code) steps(code, sizeof(code) - 1)

static void what_the_kernel_has_to_step_is_known(void **state)
{
	(void)state;
	assert_false(STEPS("\x55\xc3"));			/* push; ret */
	assert_false(STEPS("\xf3\x0f\x1e\xfa\x55\xc3"));	/* endbr64; push */
	assert_false(STEPS("\x90\xc3"));			/* nop; ret */
	assert_true(STEPS("\x48\x89\xf8\xc3"));			/* mov; ret */
	assert_true(STEPS("\xc3"));				/* ret */
	assert_true(STEPS("\x48\x83\xec\x18\xe8\0\0\0\0\xc3")); /* sub $24,%rsp; call */
}

/* The first is push; ret, the second mov; ret. */
static void one_point_that_is_stepped_is_enough(void **state)
{
	static const struct symbol_plan symbols[] = {FUNCTION("f", 0x20, 2),
						     FUNCTION("f", 0x30, 4)};
	static uint8_t code[CODE_BYTES];
	const struct elf_plan plan = {
		.symbols = symbols, .symbols_count = ARRAY_SIZE(symbols), .code = code};

	(void)state;
	memset(code, 0xcc, sizeof(code));
	memcpy(code + 0x20, "\x55\xc3", 2);
	memcpy(code + 0x30, "\x48\x89\xf8\xc3", 4);
	_cleanup_close_ int fd = elf_file(&plan);
	assert_int_equal(find_in(fd, "u:/made:f", NULL, false), 0);
	assert_int_equal(points.count, 2);
	assert_true(points.stepped);
}

#endif

/* ---- static probes ---- */

static void the_notes_and_their_base_are_found(void **state)
{
	_cleanup_close_ int fd = open(PROGRAM, O_RDONLY | O_CLOEXEC);
	struct elf_image image;

	(void)state;
	assert_int_equal(elf_read(fd, &image), 0);
	assert_int_equal(image.stapsdt.offset, truth.notes);
	assert_int_equal(image.stapsdt.bytes, truth.notes_bytes);
	assert_int_not_equal(truth.base, 0);
	assert_int_equal(image.stapsdt_base, truth.base);
	assert_int_not_equal(image.build_id_bytes, 0); /* that is in another note */
}

static void a_static_probe_has_a_point_and_no_counter_without_a_semaphore(void **state)
{
	struct span span = span_of("run_statics");

	(void)state;
	assert_int_equal(find("usdt:/points:points:begun", NULL), 0);
	assert_int_equal(points.count, 1);
	assert_within(points.all[0].offset, &span);
	assert_int_equal(points.all[0].counter, 0);
	assert_int_equal(points.all[0].call, CALL_SIZE);
#if defined(__x86_64__)
	assert_int_equal(truth.file[points.all[0].offset], 0x90);
	assert_false(points.stepped);
#endif
}

static void a_static_probe_with_a_semaphore_has_its_place_in_the_file(void **state)
{
	struct span span = span_of("run_statics");

	(void)state;
	assert_int_equal(find("usdt:/points:points:begun", NULL), 0);
	uint64_t begun = points.all[0].offset;
	assert_int_equal(find("usdt:/points:points:gated", NULL), 0);
	assert_int_equal(points.count, 1);
	assert_within(points.all[0].offset, &span);
	assert_true(points.all[0].offset > begun);
	assert_int_equal(points.all[0].counter, span_of("points_gated_semaphore").offset);
#if defined(__x86_64__)
	assert_int_equal(truth.file[points.all[0].offset], 0x90);
#endif
}

static void a_missing_static_probe_is_said_with_those_that_may_be_meant(void **state)
{
	(void)state;
	assert_int_equal(find("usdt:/points:points:began", "points:began"), -ENOENT);
	assert_string_equal(why.text,
			    "/points has no static probe points:began. Is it points:begun?");
	assert_int_equal(find("usdt:/points:other:begun", "other:begun"), -ENOENT);
	assert_string_equal(why.text, "/points has no static probe other:begun.");
	assert_int_equal(find("usdt:/points:point:begun", NULL), -ENOENT);
	assert_int_equal(find("usdt:/points:points:begu", NULL), -ENOENT);
}

static void a_function_is_no_static_probe_and_the_reverse(void **state)
{
	(void)state;
	assert_int_equal(find("usdt:/points:points:event_tick", NULL), -ENOENT);
	assert_int_equal(find("u:/points:begun", NULL), -ENOENT);
}

/* ---- files of another kind ---- */

static void a_file_that_is_no_elf_file_of_this_machine_is_refused(void **state)
{
	static const char script[80] = "#!/bin/sh\necho not a program, though it is long enough\n";
	const struct elf_plan narrow = {.narrow = true};
	_cleanup_close_ int text = file_of(script, sizeof(script)), empty = file_of("", 0);
	_cleanup_close_ int small = elf_file(&narrow);

	(void)state;
	assert_int_equal(find_in(text, "u:/script:f", "f", false), -ENOEXEC);
	assert_string_equal(why.text, "/script is no 64-bit ELF file of this machine");
	assert_int_equal(find_in(empty, "usdt:/script:p:f", "p:f", false), -ENOEXEC);
	assert_int_equal(find_in(small, "u:/small:f", "f", false), -ENOEXEC);
	assert_int_equal(points.count, 0);
}

static void a_file_of_another_processor_is_refused(void **state)
{
	Elf64_Ehdr *header = (Elf64_Ehdr *)(void *)truth.file;
	const Elf64_Half machine = header->e_machine;

	(void)state;
	header->e_machine = EM_RISCV;
	_cleanup_close_ int fd = file_of(truth.file, truth.bytes);
	header->e_machine = machine;
	assert_int_equal(find_in(fd, "u:/points:event_tick", NULL, false), -ENOEXEC);
}

/* go is not there: nor is the program. */
static void returns_of_gos_functions_are_refused(void **state)
{
	_cleanup_close_ int fd = open(GO, O_RDONLY | O_CLOEXEC);

	(void)state;
	if (fd < 0)
		skip();
	assert_int_equal(find_in(fd, "u:/gowork:main.leaf", NULL, false), 0);
	assert_int_equal(points.count, 1);
	assert_int_equal(find_in(fd, "u:/gowork:main.leaf", NULL, true), -EOPNOTSUPP);
	assert_has(why.text, "/gowork is Go's");
	assert_has(why.text, "leave event_time 0");
	assert_int_equal(points.count, 0);
}

static void returns_of_other_functions_are_not(void **state)
{
	_cleanup_close_ int fd = open(PROGRAM, O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(find_in(fd, "u:/points:event_nap", NULL, true), 0);
	assert_int_equal(points.count, 1);
}

/* ---- damaged notes ---- */

/* A copy of the program, some bytes of which are overwritten. */
static int copy_with(size_t at, const void *data, size_t bytes)
{
	int fd = file_of(truth.file, truth.bytes);

	assert_true(at + bytes <= truth.bytes);
	assert_int_equal(pwrite(fd, data, bytes, (off_t)at), bytes);
	return fd;
}

/* Finds the second probe, of which nothing is damaged if the first one's note can be passed. */
static int find_gated(size_t at, const void *data, size_t bytes)
{
	_cleanup_close_ int fd = copy_with(at, data, bytes);

	return find_in(fd, "usdt:/points:points:gated", "points:gated", false);
}

/* The offset of the first note's head, or of the number `i` of its contents. */
static size_t head_at(size_t field)
{
	return truth.notes + field;
}

static size_t number_at(size_t i)
{
	return truth.notes + HEAD + i * sizeof(uint64_t);
}

static uint64_t number_of(size_t i)
{
	uint64_t value;

	memcpy(&value, truth.file + number_at(i), sizeof(value));
	return value;
}

static void notes_that_end_behind_their_section_are_damaged(void **state)
{
	static const uint32_t sizes[] = {UINT32_MAX, UINT32_MAX - 3, 0x80000000u, 0x10000};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		const uint32_t size = sizes[i];

		assert_int_equal(find_gated(head_at(offsetof(Elf64_Nhdr, n_namesz)), &size, 4),
				 -EBADMSG);
		assert_int_equal(find_gated(head_at(offsetof(Elf64_Nhdr, n_descsz)), &size, 4),
				 -EBADMSG);
		assert_string_equal(why.text, "/points can't be read: Bad message");
	}
}

static void a_note_of_another_owner_or_type_is_passed_over(void **state)
{
	static const uint32_t type = 4;

	(void)state;
	assert_int_equal(find_gated(head_at(sizeof(Elf64_Nhdr)), "stapsdT", 7), 0);
	assert_int_equal(points.count, 1);
	assert_int_equal(find_gated(head_at(offsetof(Elf64_Nhdr, n_type)), &type, 4), 0);
	_cleanup_close_ int fd = copy_with(head_at(offsetof(Elf64_Nhdr, n_type)), &type, 4);
	assert_int_equal(find_in(fd, "usdt:/points:points:begun", NULL, false), -ENOENT);
}

/* Returns the offset of the end of the first note's contents. */
static size_t contents_end(void)
{
	Elf64_Nhdr note;

	memcpy(&note, truth.file + truth.notes, sizeof(note));
	return truth.notes + HEAD + note.n_descsz;
}

static void contents_without_an_end_are_passed_over(void **state)
{
	size_t names = number_at(3), end = contents_end();
	char text[128];

	(void)state;
	memset(text, 'x', sizeof(text));
	assert_true(end - names < sizeof(text));
	_cleanup_close_ int open_end = copy_with(end - 1, "x", 1);
	assert_int_equal(find_in(open_end, "usdt:/points:points:begun", NULL, false), -ENOENT);
	assert_int_equal(find_in(open_end, "usdt:/points:points:gated", NULL, false), 0);
	text[end - names - 1] = '\0'; /* a provider, and nothing behind it */
	_cleanup_close_ int no_name = copy_with(names, text, end - names);
	assert_int_equal(find_in(no_name, "usdt:/points:points:begun", "points:begun", false),
			 -ENOENT);
	assert_int_equal(find_in(no_name, "usdt:/points:points:gated", NULL, false), 0);
}

static void contents_that_are_too_short_are_passed_over(void **state)
{
	(void)state;
	for (uint32_t bytes = 0; bytes <= 3 * sizeof(uint64_t) + 1; bytes += 4) {
		int r = find_gated(head_at(offsetof(Elf64_Nhdr, n_descsz)), &bytes, 4);

		assert_true(r == 0 || r == -ENOENT || r == -EBADMSG);
	}
}

static void an_address_outside_the_code_is_damaged(void **state)
{
	static const uint64_t addresses[] = {0, 0x7fffffffffff0000, UINT64_MAX};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
		_cleanup_close_ int fd = copy_with(number_at(0), &addresses[i], 8);

		assert_int_equal(find_in(fd, "usdt:/points:points:begun", NULL, false), -EBADMSG);
		assert_int_equal(find_in(fd, "usdt:/points:points:gated", NULL, false), 0);
	}
}

static void a_semaphore_outside_the_file_is_damaged(void **state)
{
	static const uint64_t addresses[] = {0x7fffffffffff0000, UINT64_MAX, 1u << 30};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
		_cleanup_close_ int fd = copy_with(number_at(2), &addresses[i], 8);

		assert_int_equal(find_in(fd, "usdt:/points:points:begun", NULL, false), -EBADMSG);
	}
}

/* prelink moves a file's code, and .stapsdt.base with it, but not the numbers in the notes. */
static void notes_of_a_file_that_was_moved_are_corrected(void **state)
{
	const uint64_t moved[] = {number_of(0) - 0x5000, number_of(1) - 0x5000};

	(void)state;
	assert_int_equal(find("usdt:/points:points:begun", NULL), 0);
	uint64_t offset = points.all[0].offset;
	_cleanup_close_ int fd = copy_with(number_at(0), moved, sizeof(moved));
	assert_int_equal(find_in(fd, "usdt:/points:points:begun", NULL, false), 0);
	assert_int_equal(points.all[0].offset, offset);
}

static void a_section_of_notes_that_is_cut_or_lies_elsewhere_has_no_such_probe(void **state)
{
	static const uint64_t places[] = {0, UINT64_MAX, 1u << 30};
	const size_t size_at = truth.notes_header + offsetof(Elf64_Shdr, sh_size);
	const size_t offset_at = truth.notes_header + offsetof(Elf64_Shdr, sh_offset);

	(void)state;
	for (uint64_t bytes = 0; bytes < truth.notes_bytes; bytes++) {
		int r = find_gated(size_at, &bytes, sizeof(bytes));

		assert_true(r == -ENOENT || r == -EBADMSG || (r == 0 && points.count == 1));
	}
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		int r = find_gated(offset_at, &places[i], sizeof(places[i]));

		assert_true(r == -ENOENT || r == -EBADMSG);
		r = find_gated(size_at, &places[i], sizeof(places[i]));
		assert_true(r == -ENOENT || r == -EBADMSG);
	}
}

/* Each byte of the notes, each with several values: nothing but the two probes is ever found. */
static void any_damaged_byte_does_no_harm(void **state)
{
	static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff};
	static const char *const texts[] = {"usdt:/points:points:begun",
					    "usdt:/points:points:gated"};
	_cleanup_close_ int fd = file_of(truth.file, truth.bytes);

	(void)state;
	for (size_t i = 0; i < truth.notes_bytes * ARRAY_SIZE(values); i++) {
		size_t at = truth.notes + i / ARRAY_SIZE(values);

		assert_int_equal(pwrite(fd, &values[i % ARRAY_SIZE(values)], 1, (off_t)at), 1);
		for (size_t k = 0; k < ARRAY_SIZE(texts); k++) {
			int r = find_in(fd, texts[k], "points:begun", false);

			assert_true(r == 0 || r == -ENOENT || r == -EBADMSG);
			assert_true(r < 0 ||
				    (points.count == 1 && points.all[0].offset < truth.bytes &&
				     points.all[0].counter < truth.bytes));
		}
		assert_int_equal(pwrite(fd, truth.file + at, 1, (off_t)at), 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_has_one_point_near_its_begin),
		cmocka_unit_test(only_a_whole_name_in_its_case_is_a_function),
		cmocka_unit_test(a_variable_is_no_function),
		cmocka_unit_test(a_missing_function_is_said_with_those_that_may_be_meant),
		cmocka_unit_test(only_functions_are_near_names),
		cmocka_unit_test(a_name_that_is_too_long_for_a_symbol_is_missing),
#if defined(__x86_64__)
		cmocka_unit_test(functions_of_one_name_are_all_points),
		cmocka_unit_test(data_in_the_code_is_no_function),
		cmocka_unit_test(more_functions_than_points_are_refused),
		cmocka_unit_test(a_point_is_where_a_probe_is_cheap),
		cmocka_unit_test(where_the_return_is_wanted_nothing_is_pushed_before_the_point),
		cmocka_unit_test(a_point_is_passed_once_a_call),
		cmocka_unit_test(a_loop_may_end_far_behind_the_point),
		cmocka_unit_test(what_the_kernel_has_to_step_is_known),
		cmocka_unit_test(one_point_that_is_stepped_is_enough),
#endif
		cmocka_unit_test(the_notes_and_their_base_are_found),
		cmocka_unit_test(a_static_probe_has_a_point_and_no_counter_without_a_semaphore),
		cmocka_unit_test(a_static_probe_with_a_semaphore_has_its_place_in_the_file),
		cmocka_unit_test(a_missing_static_probe_is_said_with_those_that_may_be_meant),
		cmocka_unit_test(a_function_is_no_static_probe_and_the_reverse),
		cmocka_unit_test(a_file_that_is_no_elf_file_of_this_machine_is_refused),
		cmocka_unit_test(a_file_of_another_processor_is_refused),
		cmocka_unit_test(returns_of_gos_functions_are_refused),
		cmocka_unit_test(returns_of_other_functions_are_not),
		cmocka_unit_test(notes_that_end_behind_their_section_are_damaged),
		cmocka_unit_test(a_note_of_another_owner_or_type_is_passed_over),
		cmocka_unit_test(contents_without_an_end_are_passed_over),
		cmocka_unit_test(contents_that_are_too_short_are_passed_over),
		cmocka_unit_test(an_address_outside_the_code_is_damaged),
		cmocka_unit_test(a_semaphore_outside_the_file_is_damaged),
		cmocka_unit_test(notes_of_a_file_that_was_moved_are_corrected),
		cmocka_unit_test(
			a_section_of_notes_that_is_cut_or_lies_elsewhere_has_no_such_probe),
		cmocka_unit_test(any_damaged_byte_does_no_harm),
	};

	return cmocka_run_group_tests(tests, read_program, free_program);
}
