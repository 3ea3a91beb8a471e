/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bytecodes of a Java method as the interpreter has them: rewritten in part.
 *
 * Source: The Java Virtual Machine Specification, 6.5. The VM's own bytecodes are those from 203
 * on; each stands where one of the specification stood, whose length it keeps.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Calls it no other method, so that there is none to be inlined? False where it isn't sure.
 * `version`: the VM's feature release. */
bool jvmbytecodes_call_nothing(const uint8_t *code, size_t bytes, uint32_t version);
