/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A quota for each user: counts how much of a resource a user's things take together. Each user may
 * take the same amount, so that nobody uses up what others may take. A user is what `whose` of a
 * job says (loop/worker.h). At most 65536 users are remembered. */
#pragma once

#include <stdint.h>

struct shares;

/* Makes a table of quotas; each user may take `max`, in any unit. Returns 0, or -ENOMEM. The caller
 * owns *ret. */
int shares_new(struct shares **ret, uint64_t max);
void shares_free(struct shares *shares);

/* Returns how much the user may still take. */
uint64_t shares_left(const struct shares *shares, uint64_t whose);

/* Adds `amount` to what the user has taken; this may be more than shares_left(), which is 0 then.
 * Without memory, or with too many users, the amount isn't counted. */
void shares_take(struct shares *shares, uint64_t whose, uint64_t amount);

/* Forgets what all users have taken. */
void shares_clear(struct shares *shares);
