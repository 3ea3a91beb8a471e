// SPDX-License-Identifier: GPL-2.0-or-later
#include "event/event_points.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "event/arg_place.h"
#include "proc/symbol_lookup.h"
#include "proc/uprobe_site.h"

#if defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_X86_64
#endif

#define CODE_BYTES	64    /* looked through for a place where a point is cheap */
#define INSTRUCTION_MAX 15    /* bytes */
#define CODE_MAX	16384 /* of a function that is looked through for loops */
#define ARGUMENTS_MAX	6     /* in registers: all of them must still be there at the point */
#define STRINGS_MAX	(16u * 1024 * 1024) /* of a table that is looked through for near names */
#define SYMBOLS_MAX	(1024u * 1024)
#define BATCH		256
#define NOTES_BYTES_MAX (1024 * 1024)
#define NOTE_STAPSDT	3

struct finding_points {
	int fd;
	struct elf_image image;
	const struct event_text *event;
	bool with_return;
	bool is_indirect; /* the program chooses at its start which function it is */
	struct event_points *points;
	uint64_t begins[EVENT_POINTS_MAX]; /* of functions that were met, in the file */
	size_t begins_count;
	struct near_names *near;
};

/* Returns whether the kernel has to single-step the instruction at a point; true for instructions
 * that can't be read. */
static bool is_stepped(const struct finding_points *finding, uint64_t offset)
{
	uint8_t code[INSTRUCTION_MAX];
	struct uprobe_site site;

	if (elf_pread(finding->fd, code, sizeof(code), offset) < 0)
		return true;
	uprobe_site_find(code, sizeof(code), 0, &site);
	return !site.emulated || site.offset;
}

/* Adds a point, unless it is known. Returns 0 or -E2BIG. */
static int add_point(struct finding_points *finding, const struct uprobe_point *point)
{
	struct event_points *points = finding->points;

	for (size_t i = 0; i < points->count; i++) {
		if (points->all[i].offset == point->offset)
			return 0;
	}
	if (points->count == EVENT_POINTS_MAX)
		return -E2BIG;
	points->all[points->count++] = *point;
	points->stepped |= is_stepped(finding, point->offset);
	return 0;
}

/* ---- functions ---- */

/* Jumps of a function to places behind its begin, up to that of a point. */
struct point_loop {
	uint64_t begin, point;
	bool found;
};

static void meet_jump(void *arg, const struct uprobe_site_jump *jump)
{
	struct point_loop *loop = arg;

	loop->found |=
		!jump->by_slot && jump->address > loop->begin && jump->address <= loop->point;
}

/* Returns whether a point so far behind the function's begin is passed once a call: no loop has it.
 * Of a function that is too large to be looked through this is known if only endbr64 is before it.
 */
static bool is_passed_once(const struct finding_points *finding, uint64_t begin, uint64_t bytes,
			   const uint8_t *code, uint32_t behind)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	struct point_loop loop = {.begin = begin, .point = begin + behind};
	_cleanup_free_ uint8_t *all = bytes && bytes <= CODE_MAX ? malloc((size_t)bytes) : NULL;

	if (!all || elf_pread(finding->fd, all, (size_t)bytes, begin) < 0)
		return behind == sizeof(endbr64) && memcmp(code, endbr64, sizeof(endbr64)) == 0;
	uprobe_site_jumps(all, (size_t)bytes, begin, meet_jump, &loop);
	return !loop.found;
}

/* Returns how many bytes behind the function's begin a point is cheap; 0: at the begin. */
static uint32_t cheap_place(const struct finding_points *finding, uint64_t begin, uint64_t bytes)
{
	struct uprobe_site site = {0};
	uint8_t code[CODE_BYTES];
	size_t most = bytes && bytes < CODE_BYTES ? (size_t)bytes : CODE_BYTES;

	if (elf_pread(finding->fd, code, most, begin) < 0)
		return 0;
	uprobe_site_find(code, most, ARGUMENTS_MAX, &site);
	if (!site.offset || (finding->with_return && site.pushed))
		return 0;
	return is_passed_once(finding, begin, bytes, code, site.offset) ? site.offset : 0;
}

/* Remembers a function. Returns 0, -EEXIST: it was met before, or -E2BIG. */
static int add_begin(struct finding_points *finding, uint64_t begin)
{
	for (size_t i = 0; i < finding->begins_count; i++) {
		if (finding->begins[i] == begin)
			return -EEXIST;
	}
	if (finding->begins_count == EVENT_POINTS_MAX)
		return -E2BIG;
	finding->begins[finding->begins_count++] = begin;
	return 0;
}

static int meet_function(void *arg, size_t name, const Elf64_Sym *symbol)
{
	struct finding_points *finding = arg;
	struct uprobe_point point = {.call = CALL_SIZE};

	(void)name;
	finding->is_indirect |= ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC;
	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC ||
	    !symbol_offset(&finding->image, symbol->st_value, &point.offset))
		return 0;
	int r = add_begin(finding, point.offset);
	if (r < 0)
		return r == -EEXIST ? 0 : r;
	point.offset += cheap_place(finding, point.offset, symbol->st_size);
	return add_point(finding, &point);
}

static int find_function(struct finding_points *finding, const char *const *name)
{
	int r;

	finding->begins_count = 0;
	r = symbol_lookup(finding->fd, &finding->image.dynsym, name, 1, meet_function, finding);
	return r < 0 ? r
		     : symbol_lookup(finding->fd, &finding->image.symtab, name, 1, meet_function,
				     finding);
}

/* Calls near_names_meet() for the functions of a table. */
static void look_through(const struct finding_points *finding, const struct elf_symbols *from)
{
	size_t bytes = (size_t)from->strings.bytes;
	uint64_t total = from->symbols.bytes / sizeof(Elf64_Sym), offset;
	_cleanup_free_ char *strings =
		from->strings.bytes <= STRINGS_MAX ? malloc(bytes + 1) : NULL;
	Elf64_Sym symbols[BATCH];

	if (!strings || elf_pread(finding->fd, strings, bytes, from->strings.offset) < 0)
		return;
	strings[bytes] = '\0';
	for (uint64_t at = 0; at < total && at < SYMBOLS_MAX; at += BATCH) {
		size_t n = total - at < BATCH ? (size_t)(total - at) : BATCH;

		if (elf_pread(finding->fd, symbols, n * sizeof(symbols[0]),
			      from->symbols.offset + at * sizeof(symbols[0])) < 0)
			return;
		for (size_t i = 0; i < n; i++) {
			if (ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC &&
			    symbols[i].st_name < bytes &&
			    symbol_offset(&finding->image, symbols[i].st_value, &offset))
				near_names_meet(finding->near, strings + symbols[i].st_name);
		}
	}
}

static int find_functions(struct finding_points *finding)
{
	const char *name = finding->event->name;
	int r = strlen(name) <= SYMBOL_NAME_MAX ? find_function(finding, &name) : 0;

	if (r < 0 || finding->points->count || !finding->near)
		return r;
	look_through(finding, &finding->image.dynsym);
	look_through(finding, &finding->image.symtab);
	return 0;
}

/* ---- static probes ---- */

/* A note's contents. */
struct static_probe {
	uint64_t address, base, counter;
	const char *provider, *name;
	const char *args; /* as the assembler writes them */
};

/* Reads a note's contents. Returns false if they are damaged. */
static bool read_contents(const char *contents, size_t bytes, struct static_probe *probe)
{
	const size_t numbers = 3 * sizeof(uint64_t);
	const char *end = contents + bytes;

	if (bytes < numbers + 2 || end[-1])
		return false;
	memcpy(&probe->address, contents, sizeof(uint64_t));
	memcpy(&probe->base, contents + sizeof(uint64_t), sizeof(uint64_t));
	memcpy(&probe->counter, contents + 2 * sizeof(uint64_t), sizeof(uint64_t));
	probe->provider = contents + numbers;
	probe->name = probe->provider + strlen(probe->provider) + 1;
	if (probe->name >= end)
		return false;
	probe->args = probe->name + strlen(probe->name) + 1;
	if (probe->args >= end)
		probe->args = "";
	return true;
}

static int meet_probe(struct finding_points *finding, struct static_probe *probe)
{
	const struct elf_image *image = &finding->image;
	struct uprobe_point point = {.call = CALL_SIZE};
	char whole[2 * NEAR_NAME_BYTES];

	if (strcmp(probe->provider, finding->event->group) != 0 ||
	    strcmp(probe->name, finding->event->name) != 0) {
		snprintf(whole, sizeof(whole), "%.100s:%.100s", probe->provider, probe->name);
		if (finding->near)
			near_names_meet(finding->near, whole);
		return 0;
	}
	if (image->stapsdt_base) { /* moved after the notes were written, by prelink */
		probe->address += image->stapsdt_base - probe->base;
		probe->counter += probe->counter ? image->stapsdt_base - probe->base : 0;
	}
	if (!symbol_offset(image, probe->address, &point.offset) ||
	    (probe->counter && !elf_offset_of(image, probe->counter, &point.counter)) ||
	    point.counter > UINT32_MAX)
		return -EBADMSG;
	if (finding->event->arg) {
		point.cookie = arg_place_noted(probe->args, finding->event->arg);
		if (!point.cookie)
			return -ENODATA;
	}
	return add_point(finding, &point);
}

static int find_static(struct finding_points *finding)
{
	const struct elf_extent *at = &finding->image.stapsdt;
	size_t bytes = (size_t)at->bytes, next = 0;
	int r = at->bytes > NOTES_BYTES_MAX ? -EFBIG : 0;
	_cleanup_free_ char *notes = r == 0 ? malloc(bytes + 1) : NULL;

	if (r == 0)
		r = notes ? elf_pread(finding->fd, notes, bytes, at->offset) : -ENOMEM;
	while (r == 0 && bytes - next >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		struct static_probe probe;

		memcpy(&note, notes + next, sizeof(note));
		size_t name = next + sizeof(note);
		size_t contents = name + (((size_t)note.n_namesz + 3) & ~(size_t)3);
		if (contents > bytes || note.n_descsz > bytes - contents)
			return -EBADMSG;
		if (note.n_type == NOTE_STAPSDT && note.n_namesz == sizeof("stapsdt") &&
		    memcmp(notes + name, "stapsdt", sizeof("stapsdt")) == 0 &&
		    read_contents(notes + contents, note.n_descsz, &probe))
			r = meet_probe(finding, &probe);
		next = contents + (((size_t)note.n_descsz + 3) & ~(size_t)3);
		if (next > bytes)
			break;
	}
	return r;
}

/* ---- both ---- */

static int read_image(struct finding_points *finding)
{
	int r = elf_read(finding->fd, &finding->image);

	if (r == 0 && (!finding->image.wide || finding->image.machine != MACHINE))
		r = -ENOEXEC;
	return r;
}

static void explain_error(const struct finding_points *finding, int error, struct why *why)
{
	const struct event_text *event = finding->event;
	bool is_static = event->type == EVENT_USDT;
	struct why near = {0};

	if (error == -ENOEXEC) {
		why_set(why, "%s is no 64-bit ELF file of this machine", event->path);
	} else if (error == -E2BIG) {
		why_set(why, "%s has more than %d such points", event->path, EVENT_POINTS_MAX);
	} else if (error == -EOPNOTSUPP) {
		why_set(why,
			"%s is Go's, and returns of Go's functions can't be probed, for its stacks "
			"move: leave event_time 0",
			event->path);
	} else if (error == -ENOLINK) {
		why_set(why,
			"%s of %s is one of several functions, which programs choose at their "
			"start (IFUNC): name that one",
			event->name, event->path);
	} else if (error == -ENODATA) {
		why_set(why, "%s:%s of %s has no argument %u, or not where it can be read",
			event->group, event->name, event->path, event->arg);
	} else if (error != -ENOENT) {
		why_set(why, "%s can't be read: %s", event->path, strerror(-error));
	} else {
		if (finding->near)
			near_names_write(finding->near, &near);
		why_set(why, "%s has no %s %s%s%s.%.500s", event->path,
			is_static ? "static probe" : "function", is_static ? event->group : "",
			is_static ? ":" : "", event->name, near.text);
	}
}

int event_points_find(int fd, const struct event_text *event, bool with_return,
		      struct event_points *points, struct near_names *near, struct why *why)
{
	_cleanup_free_ struct finding_points *finding = malloc(sizeof(*finding));
	int r = finding ? 0 : -ENOMEM;

	points->count = 0;
	points->stepped = false;
	if (r < 0) {
		why_set(why, "no memory");
		return r;
	}
	*finding = (struct finding_points){.fd = fd,
					   .event = event,
					   .with_return = with_return,
					   .points = points,
					   .near = near};
	r = read_image(finding);
	if (r == 0)
		r = with_return && finding->image.is_go ? -EOPNOTSUPP : 0;
	if (r == 0)
		r = event->type == EVENT_USDT ? find_static(finding) : find_functions(finding);
	if (r == 0 && finding->is_indirect)
		r = -ENOLINK;
	if (r == 0 && !points->count)
		r = -ENOENT;
	if (r < 0)
		explain_error(finding, r, why);
	return r;
}
