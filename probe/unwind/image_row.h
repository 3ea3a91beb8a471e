/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Encoder and decoder of rules: as the lower 22 bits of a row, or as a struct table_rule where a
 * row has too few bits. */
#pragma once

#include "cfi/rule.h"

/* The registers that a row means on a processor; DWARF numbers. */
struct row_format {
	uint8_t sp, fp;
	uint8_t link; /* 0: the return address is always in memory */
	bool narrow;  /* rows count in words of 64-bit code: 32-bit code has rules instead */
};

/* Returns the format for an e_machine; NULL if the processor is unknown. */
const struct row_format *row_format_of(uint16_t machine);

/* Packs a rule into *row; returns false if the rule doesn't fit and needs a table_rule. */
bool row_pack(const struct row_format *format, const struct rule *rule, uint32_t *row);
/* Unpacks a row whose kind isn't ROW_RULE. */
void row_unpack(const struct row_format *format, uint32_t row, struct rule *rule);

/* Returns the row that refers to the table's rule `number`. */
static inline uint32_t row_of_rule(uint32_t number)
{
	return (uint32_t)ROW_RULE << ROW_KIND_SHIFT | number;
}

/* Pack and unpack a rule of kind RULE_CFA. */
void rule_pack(const struct rule *rule, struct table_rule *to);
void rule_unpack(const struct table_rule *from, struct rule *rule);
