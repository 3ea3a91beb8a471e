// SPDX-License-Identifier: GPL-2.0-or-later
#include "loop/shares.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/map.h"

#define USERS_MAX 65536

struct shares {
	struct map *taken; /* uint64_t whose -> uint64_t amount */
	uint64_t max;
};

int shares_new(struct shares **ret, uint64_t max)
{
	_cleanup_free_ struct shares *shares = calloc(1, sizeof(*shares));

	if (!shares)
		return -ENOMEM;
	shares->max = max;
	int r = map_new(&shares->taken, sizeof(uint64_t), sizeof(uint64_t), USERS_MAX);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(shares);
	return 0;
}

void shares_free(struct shares *shares)
{
	if (!shares)
		return;
	map_free(shares->taken);
	free(shares);
}

uint64_t shares_left(const struct shares *shares, uint64_t whose)
{
	const uint64_t *taken = map_get(shares->taken, &whose);

	if (!taken)
		return shares->max;
	return *taken < shares->max ? shares->max - *taken : 0;
}

void shares_take(struct shares *shares, uint64_t whose, uint64_t amount)
{
	uint64_t *taken;

	if (amount && map_put(shares->taken, &whose, (void **)&taken) >= 0)
		*taken += amount;
}

void shares_clear(struct shares *shares)
{
	map_clear(shares->taken);
}
