/* SPDX-License-Identifier: GPL-2.0-only */
/* A rule as a row's lower 22 bits, or as the words of a table's own rule, and back. */
#pragma once

#include "cfi/rule.h"

/* What a row means on a processor. */
struct row_format {
	uint8_t sp, fp; /* DWARF numbers */
	uint8_t link;	/* 0: the return address is always in memory */
};

/* By e_machine; NULL: not known. */
const struct row_format *row_format_of(uint16_t machine);

/* False: it takes a rule of its own. */
bool row_pack(const struct row_format *format, const struct rule *rule, uint32_t *row);
void row_unpack(const struct row_format *format, uint32_t row, struct rule *rule);

static inline uint32_t row_of_rule(uint32_t number)
{
	return (uint32_t)ROW_RULE << ROW_KIND_SHIFT | number;
}

void rule_pack(const struct rule *rule, struct table_rule *to);
void rule_unpack(const struct table_rule *from, struct rule *rule);
