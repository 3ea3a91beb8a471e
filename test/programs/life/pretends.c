/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pretends SECONDS: burns that much CPU time, with the symbols of a CPython and of a Java VM:
 * whoever looks at its file finds both, and neither is there. Linked with -rdynamic.
 */
#include <stdio.h>

#include "burn.h"

/* Code that nobody runs: no interpreter and no VM has less. */
__asm__(".pushsection .text\n.fill 0x240000, 1, 0xcc\n.popsection");

char _PyRuntime[4096], PyCode_Type[4096];
const unsigned long Py_Version = 0x030b02f0;

void _PyEval_EvalFrameDefault(uint64_t ns);

void _PyEval_EvalFrameDefault(uint64_t ns)
{
	burn_ns(ns);
}

#define VM(name) char *gHotSpotVM##name
VM(Structs);
VM(Types);
VM(IntConstants);

#define ENTRY(name) uint64_t gHotSpotVM##name
ENTRY(StructEntryArrayStride);
ENTRY(StructEntryTypeNameOffset);
ENTRY(StructEntryFieldNameOffset);
ENTRY(StructEntryTypeStringOffset);
ENTRY(StructEntryIsStaticOffset);
ENTRY(StructEntryOffsetOffset);
ENTRY(StructEntryAddressOffset);
ENTRY(TypeEntryArrayStride);
ENTRY(TypeEntryTypeNameOffset);
ENTRY(TypeEntrySizeOffset);
ENTRY(IntConstantEntryArrayStride);
ENTRY(IntConstantEntryNameOffset);
ENTRY(IntConstantEntryValueOffset);

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: pretends SECONDS\n");
		return 2;
	}
	_PyEval_EvalFrameDefault(strtoull(argv[1], NULL, 10) * 1000000000);
	return 0;
}
