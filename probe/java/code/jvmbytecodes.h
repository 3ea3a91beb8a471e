/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scanner of a Java method's bytecodes, as the interpreter has them: the VM has replaced some by
 * its own bytecodes, from 203 on, which have the length of those that they replace.
 *
 * Source: The Java Virtual Machine Specification, 6.5.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns whether the method calls no other method, so that nothing can be inlined into it; false
 * also if that isn't certain. `version` is the VM's feature release. */
bool jvmbytecodes_call_nothing(const uint8_t *code, size_t bytes, uint32_t version);
