// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "java/vm/hotspot_state.h"

#define VERSION_MAX 1000

/* Returns JDK 8's update from its release "25.402-b06": HotSpot's own number, and the update. */
static uint32_t update_of(struct vm_memory *memory, const struct vm_value *release)
{
	char text[32];
	uint64_t at;

	if (!release->known || vm_word(memory, release->value, &at) < 0 || !at ||
	    vm_text(memory, at, text, sizeof(text)) < 0)
		return 0;
	const char *dot = text;
	while (*dot && *dot != '.')
		dot++;
	unsigned long update = *dot ? strtoul(dot + 1, NULL, 10) : 0;
	return update <= VERSION_MAX ? (uint32_t)update : 0;
}

/* Returns a part of the version; 0 if the VM doesn't tell it. */
static uint32_t number_of(struct vm_memory *memory, const struct vm_value *field)
{
	uint64_t number;

	if (!field->known || vm_number(memory, field->value, 4, &number) < 0 ||
	    number > VERSION_MAX)
		return 0;
	return (uint32_t)number;
}

/* Sets the version, which is only for people to read. */
static void tell_version(struct vm_memory *memory, const struct vm_tables *tables,
			 struct jvm_layout *layout)
{
	const struct vm_value *fields = tables->fields;

	if (fields[FIELD_HEAP].known) {
		layout->version = 8;
		layout->patch = update_of(memory, &fields[FIELD_RELEASE]);
		return;
	}
	layout->version = number_of(memory, &fields[FIELD_MAJOR]);
	layout->minor = number_of(memory, &fields[FIELD_MINOR]);
	layout->patch = number_of(memory, &fields[FIELD_SECURITY]);
}

int hotspot_of_memory(const struct process_memory *of, const struct hotspot_file *file,
		      uint64_t bias, struct jvm_layout *layout, const char **missing)
{
	_cleanup_free_ struct vm_memory *memory = calloc(1, sizeof(*memory));
	struct vm_tables tables;

	*layout = (struct jvm_layout){0};
	*missing = NULL;
	if (!memory)
		return -ENOMEM;
	memory->of = of;
	int r = vm_tables(memory, file, bias, &tables);
	if (r < 0)
		return r;
	tell_version(memory, &tables, layout);
	r = vm_layout(&tables, layout, missing);
	if (r == 0)
		r = vm_heaps(memory, &tables, layout, missing);
	if (r == 0)
		vm_virtual(memory, &tables, layout);
	return r;
}
