/* SPDX-License-Identifier: GPL-2.0-only */
/* File systems that hung: nothing is asked of them for ten minutes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define HUNG_MAX 16

/* Begins with zeroes; the oldest makes room. */
struct hung {
	struct {
		uint64_t device;
		uint64_t until_ns;
	} each[HUNG_MAX];
	unsigned next;
};

void hung_add(struct hung *hung, uint64_t device);
bool hung_has(const struct hung *hung, uint64_t device);
