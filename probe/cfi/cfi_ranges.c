// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi/cfi_ranges.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "cfi/cfi_entry.h"

struct start {
	const struct cfi_machine *machine;
	bool callable;
};

/* Sink for the first row of a piece; returns non-zero, which ends the run. */
static int meet_row(void *arg, uint64_t address, const struct rule *rule)
{
	struct start *start = arg;
	bool pushed = start->machine->link == CFI_NO_REGISTER; /* the return address */

	(void)address;
	start->callable = rule->kind == RULE_CFA &&
			  rule->cfa_reg == cfi_number(start->machine, start->machine->sp) &&
			  rule->cfa_offset == (pushed ? start->machine->word : 0);
	return 1;
}

static bool holds_one(const struct cfi_function *function, const uint64_t *addresses, size_t count)
{
	size_t first = PARTITION_POINT(at, count, addresses[at] < function->start);

	return first < count && addresses[first] < function->end;
}

/* The addresses that are asked for; NULL: all. */
struct wanted_addresses {
	const uint64_t *addresses;
	size_t count;
};

static int scan_functions(const struct cfi_section *section, struct cfi_cies *cies,
			  const struct wanted_addresses *wanted,
			  int (*each)(void *arg, const struct cfi_range *piece), void *arg)
{
	struct cfi_function function;
	struct cfi_entry entry;
	size_t offset = 0;
	int r = 0;

	while (r == 0 && cfi_section_next(section, &offset, &entry)) {
		struct start start = {cies->machine, false};
		const struct cfi_cie *cie = entry.is_cie ? NULL : cfi_cie_at(cies, entry.cie);

		if (!cie || !cfi_function_read(section, cie, &entry, &function) ||
		    (wanted && !holds_one(&function, wanted->addresses, wanted->count)))
			continue;
		if (wanted)
			cfi_run(cie, &function, &section->bases, meet_row, &start);
		r = each(arg, &(struct cfi_range){function.start, function.end, start.callable});
	}
	return r;
}

static void end_section(struct cfi_section *section)
{
	cfi_section_done(section);
}

static int read_ranges(int fd, const struct elf_image *image, const struct wanted_addresses *wanted,
		       int (*each)(void *arg, const struct cfi_range *piece), void *arg)
{
	const struct cfi_machine *machine = cfi_machine_of(image);
	_cleanup_free_ struct cfi_cies *cies = calloc(1, sizeof(*cies));
	_cleanup_(end_section) struct cfi_section section = {0};

	if (!cies)
		return -ENOMEM;
	if (!machine)
		return -ENOENT;
	int r = cfi_section_read(&section, fd, image, false);
	if (r < 0)
		return r;
	cfi_cies_init(cies, &section, machine);
	return scan_functions(&section, cies, wanted, each, arg);
}

int cfi_ranges_all(int fd, const struct elf_image *image,
		   int (*each)(void *arg, const struct cfi_range *piece), void *arg)
{
	return read_ranges(fd, image, NULL, each, arg);
}

int cfi_ranges_at(int fd, const struct elf_image *image, const uint64_t *addresses, size_t count,
		  int (*each)(void *arg, const struct cfi_range *piece), void *arg)
{
	return read_ranges(fd, image, &(struct wanted_addresses){addresses, count}, each, arg);
}
