/* SPDX-License-Identifier: GPL-2.0-only */
/* How much each user's things take together of what is the same for every user: who takes all of
 * that leaves the others' alone. A user is told as a job's (loop/worker.h). */
#pragma once

#include <stdint.h>

struct shares;

/* `max`: of each user. -ENOMEM */
int shares_new(struct shares **ret, uint64_t max);
void shares_free(struct shares *shares);

/* How much that user may take yet. */
uint64_t shares_left(const struct shares *shares, uint64_t whose);

/* It may be more than is left: then nothing is left. Without memory it isn't remembered. */
void shares_take(struct shares *shares, uint64_t whose, uint64_t amount);

/* Nobody has taken anything. */
void shares_clear(struct shares *shares);
