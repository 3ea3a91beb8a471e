/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reference.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <elfutils/libdwfl.h>

struct reference {
	Dwfl *dwfl;
	unsigned refused;
	struct moment *moment; /* the one that is walked */
	uint64_t *frames;
	size_t count, max;
};

static int stack_read(const struct moment *moment, void *to, size_t bytes, uint64_t address)
{
	const struct perf_sample *sample = moment->sample;
	uint64_t distance = address - sample->regs[DWARF_SP];

	if (distance >= sample->stack_bytes || bytes > sample->stack_bytes - distance)
		return -EFAULT;
	memcpy(to, sample->stack + distance, bytes);
	return 0;
}

static int file_read(const struct moment *moment, void *to, size_t bytes, uint64_t address)
{
	ssize_t number = layout_find(moment->layout, address);
	const struct replay_map *map;
	const struct mapped_file *file;

	if (number < 0)
		return -EFAULT;
	map = &moment->layout->maps[number];
	file = moment->layout->files[number];
	if (file->fd < 0 || bytes > map->end - address)
		return -EFAULT;
	return elf_pread(file->fd, to, bytes, map->file_offset + (address - map->start)) < 0
		       ? -EFAULT
		       : 0;
}

int moment_read(void *arg, void *to, size_t bytes, uint64_t address)
{
	struct moment *moment = arg;

	if (stack_read(moment, to, bytes, address) == 0 ||
	    file_read(moment, to, bytes, address) == 0)
		return 0;
	if (!moment->missed)
		moment->missed = address;
	return -EFAULT;
}

/* What is asked for is the program as it runs, not the debug files that may lie beside it. */
static int
find_debuginfo(Dwfl_Module *module __attribute__((unused)), void **data __attribute__((unused)),
	       const char *name __attribute__((unused)), Dwarf_Addr base __attribute__((unused)),
	       const char *path __attribute__((unused)), const char *link __attribute__((unused)),
	       GElf_Word crc __attribute__((unused)), char **found __attribute__((unused)))
{
	return -1;
}

static int find_elf(Dwfl_Module *module __attribute__((unused)),
		    void **data __attribute__((unused)), const char *name __attribute__((unused)),
		    Dwarf_Addr base __attribute__((unused)), char **path __attribute__((unused)),
		    Elf **elf __attribute__((unused)))
{
	return -1;
}

static pid_t next_thread(Dwfl *dwfl __attribute__((unused)), void *arg, void **thread)
{
	struct reference *reference = arg;

	if (*thread)
		return 0;
	*thread = reference;
	return (pid_t)reference->moment->sample->tid;
}

static bool memory_read(Dwfl *dwfl __attribute__((unused)), Dwarf_Addr address, Dwarf_Word *word,
			void *arg)
{
	struct reference *reference = arg;

	return moment_read(reference->moment, word, sizeof(*word), address) == 0;
}

static bool set_initial_registers(Dwfl_Thread *thread, void *arg)
{
	struct reference *reference = arg;

	return dwfl_thread_state_registers(thread, 0, DWARF_REGS, reference->moment->sample->regs);
}

static int take_frame(Dwfl_Frame *frame, void *arg)
{
	struct reference *reference = arg;
	Dwarf_Addr pc;

	if (!dwfl_frame_pc(frame, &pc, NULL))
		return DWARF_CB_ABORT;
	if (reference->count == reference->max)
		return DWARF_CB_ABORT;
	reference->frames[reference->count++] = pc;
	return DWARF_CB_OK;
}

/* Each file once, though it may be mapped in pieces. */
static bool is_reported(const struct layout *layout, size_t number)
{
	for (size_t i = 0; i < number; i++)
		if (layout->files[i] == layout->files[number] &&
		    layout_bias(layout, i) == layout_bias(layout, number))
			return true;
	return false;
}

/* It can lie at one place only: libdw takes no other. node maps a piece of itself a second time. */
static bool is_fixed(const struct mapped_file *file)
{
	Elf64_Half type = ET_NONE;

	return elf_pread(file->fd, &type, sizeof(type), offsetof(Elf64_Ehdr, e_type)) == 0 &&
	       type == ET_EXEC;
}

static void report(struct reference *reference, const struct layout *layout)
{
	dwfl_report_begin(reference->dwfl);
	for (size_t i = 0; i < layout->count; i++) {
		const struct mapped_file *file = layout->files[i];
		int fd;

		if (file->fd < 0 || !file->elf.segments_count || is_reported(layout, i))
			continue;
		if (layout_bias(layout, i) && is_fixed(file))
			continue;
		fd = dup(file->fd);
		if (fd >= 0 && dwfl_report_elf(reference->dwfl, file->path, file->path, fd,
					       layout_bias(layout, i), true))
			continue;
		if (fd >= 0)
			close(fd);
		reference->refused++;
	}
	dwfl_report_end(reference->dwfl, NULL, NULL);
}

struct reference *reference_new(const struct layout *layout)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = find_elf,
		.find_debuginfo = find_debuginfo,
		.section_address = dwfl_offline_section_address,
	};
	static const Dwfl_Thread_Callbacks thread_callbacks = {
		.next_thread = next_thread,
		.memory_read = memory_read,
		.set_initial_registers = set_initial_registers,
	};
	struct reference *reference = calloc(1, sizeof(*reference));

	if (!reference)
		return NULL;
	reference->dwfl = dwfl_begin(&callbacks);
	if (!reference->dwfl) {
		free(reference);
		return NULL;
	}
	report(reference, layout);
	if (!dwfl_attach_state(reference->dwfl, NULL, (pid_t)layout->pid, &thread_callbacks,
			       reference)) {
		reference_free(reference);
		return NULL;
	}
	return reference;
}

void reference_free(struct reference *reference)
{
	if (!reference)
		return;
	dwfl_end(reference->dwfl);
	free(reference);
}

/* The rules say of this code that it has no caller. */
static bool is_root(struct reference *reference, uint64_t address)
{
	Dwfl_Module *module = dwfl_addrmodule(reference->dwfl, address);
	Dwarf_Addr bias = 0;
	Dwarf_CFI *cfi = module ? dwfl_module_eh_cfi(module, &bias) : NULL;
	Dwarf_Op memory[3], *ops = NULL;
	Dwarf_Frame *frame = NULL;
	size_t ops_count = 0;
	bool undefined;

	if (!cfi || dwarf_cfi_addrframe(cfi, address - bias, &frame) != 0)
		return false;
	undefined = dwarf_frame_register(frame, DWARF_PC, memory, &ops, &ops_count) == 0 &&
		    !ops_count && ops == memory;
	free(frame);
	return undefined;
}

/* libdw calls a stack whole, too, whose return address could not be read. */
static bool is_whole(struct reference *reference)
{
	uint64_t last = reference->count ? reference->frames[reference->count - 1] : 0;

	return !reference->moment->missed || is_root(reference, last - (reference->count > 1));
}

size_t reference_walk(struct reference *reference, struct moment *moment, uint64_t *frames,
		      size_t max, const char **failure)
{
	int r;

	reference->moment = moment;
	reference->frames = frames;
	reference->count = 0;
	reference->max = max;
	dwfl_errno(); /* forgets what failed before */
	r = dwfl_getthread_frames(reference->dwfl, (pid_t)moment->sample->tid, take_frame,
				  reference);
	if (r == 0)
		*failure = is_whole(reference) ? NULL : "return address not read";
	else if (r < 0)
		*failure = dwfl_errmsg(-1);
	else
		*failure = reference->count == max ? "too deep" : "no pc";
	if (r < 0 && !*failure)
		*failure = "no error told";
	return reference->count;
}

const char *reference_name(struct reference *reference, uint64_t address, uint64_t *distance)
{
	Dwfl_Module *module = dwfl_addrmodule(reference->dwfl, address);
	const char *name = NULL;
	GElf_Off offset = 0;
	GElf_Sym symbol;

	if (module)
		name = dwfl_module_addrinfo(module, address, &offset, &symbol, NULL, NULL, NULL);
	*distance = offset;
	return name ? name : "";
}

unsigned reference_refused(const struct reference *reference)
{
	return reference->refused;
}
