// SPDX-License-Identifier: GPL-2.0-or-later
#include "java/vm/hotspot.h"

#include <errno.h>

#include "base/cleanup.h"
#include "proc/symbol_lookup.h"

static const char *const names[] = {
	[HOTSPOT_STRUCTS] = "gHotSpotVMStructs",
	[HOTSPOT_TYPES] = "gHotSpotVMTypes",
	[HOTSPOT_INT_CONSTANTS] = "gHotSpotVMIntConstants",
	[HOTSPOT_STRUCT_STRIDE] = "gHotSpotVMStructEntryArrayStride",
	[HOTSPOT_STRUCT_TYPE_NAME] = "gHotSpotVMStructEntryTypeNameOffset",
	[HOTSPOT_STRUCT_FIELD_NAME] = "gHotSpotVMStructEntryFieldNameOffset",
	[HOTSPOT_STRUCT_TYPE_STRING] = "gHotSpotVMStructEntryTypeStringOffset",
	[HOTSPOT_STRUCT_IS_STATIC] = "gHotSpotVMStructEntryIsStaticOffset",
	[HOTSPOT_STRUCT_OFFSET] = "gHotSpotVMStructEntryOffsetOffset",
	[HOTSPOT_STRUCT_ADDRESS] = "gHotSpotVMStructEntryAddressOffset",
	[HOTSPOT_TYPE_STRIDE] = "gHotSpotVMTypeEntryArrayStride",
	[HOTSPOT_TYPE_NAME] = "gHotSpotVMTypeEntryTypeNameOffset",
	[HOTSPOT_TYPE_SIZE] = "gHotSpotVMTypeEntrySizeOffset",
	[HOTSPOT_INT_STRIDE] = "gHotSpotVMIntConstantEntryArrayStride",
	[HOTSPOT_INT_NAME] = "gHotSpotVMIntConstantEntryNameOffset",
	[HOTSPOT_INT_VALUE] = "gHotSpotVMIntConstantEntryValueOffset",
};

_Static_assert(ARRAY_SIZE(names) == HOTSPOT_SYMBOL_COUNT, "each has its name");

static int meet_symbol(void *arg, size_t name, const Elf64_Sym *symbol)
{
	struct hotspot_file *file = arg;

	if (ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT)
		file->symbols[name] = symbol->st_value;
	return 0;
}

int hotspot_find(int fd, const struct elf_image *image, struct hotspot_file *file)
{
	*file = (struct hotspot_file){0};
	if (!image->wide)
		return -ENOENT;
	int r = symbol_lookup(fd, &image->dynsym, names, ARRAY_SIZE(names), meet_symbol, file);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!file->symbols[i])
			return -ENOENT;
	}
	return 0;
}
