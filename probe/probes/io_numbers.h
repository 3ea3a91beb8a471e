/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The numbers of the system calls that move bytes, for programs that look at these calls
 * (bpf/io/moved.h). Private to probes/. */
#pragma once

#include <stdint.h>

#include "bpf/shared/io_calls.h"

/* Fills in an opened object's tables io_calls and io_narrow_calls. */
void io_numbers_fill(const volatile uint8_t calls[IO_CALLS_MAX],
		     const volatile uint8_t narrow_calls[IO_CALLS_MAX]);
