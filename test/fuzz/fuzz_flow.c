// SPDX-License-Identifier: GPL-2.0-or-later
/* Bytes as the code of a function, whose rows are made: bounded, in order, inside of it. */
#include "fuzz.h"

#include <string.h>

#include "flow/flow.h"

#define ADDRESS 0x10000

struct order {
	size_t bytes;
	uint64_t next, rows;
	struct rule last;
};

static int check_row(void *arg, uint64_t address, const struct rule *rule)
{
	struct order *order = arg;

	demand(order->rows || address == ADDRESS);
	demand(address >= order->next && address <= ADDRESS + order->bytes + 15);
	demand(order->rows == 0 || !rule_is_equal(rule, &order->last));
	demand(rule->kind == RULE_NONE || rule->kind == RULE_CFA || rule->kind == RULE_END);
	order->last = *rule;
	order->next = address + 1;
	order->rows++;
	return 0;
}

struct input {
	const uint8_t *data;
	size_t bytes;
};

/* Tables of jumps are the code itself, read anywhere. */
static int read_any(void *arg, uint64_t address, void *to, size_t bytes)
{
	const struct input *input = arg;

	if (bytes > input->bytes)
		return -1;
	memcpy(to, input->data + address % (input->bytes - bytes + 1), bytes);
	return 0;
}

static bool ends_any(void *arg, uint64_t target)
{
	(void)arg;
	return target % 3 == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct input input = {data, bytes};
	struct flow_result result;

	for (int asks = 0; asks < 2; asks++) {
		struct order order = {.bytes = bytes};
		struct flow_function function = {
			.code = data,
			.bytes = bytes,
			.address = ADDRESS,
			.read = read_any,
			.ends = asks ? ends_any : NULL,
			.arg = &input,
		};
		int r = flow_rows(&function, check_row, &order, &result);

		demand(r <= 0);
		demand(result.claimed <= result.instructions && result.instructions <= bytes);
		demand(r < 0 || order.rows == 0 || order.last.kind == RULE_NONE);
	}
	return 0;
}
