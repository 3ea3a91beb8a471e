/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much of the daemon's memory what programs tell of their code may take, all together and of
 * one user. Any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JIT_MEMORY_MAX (32u << 20)	    /* bytes; of all processes */
#define JIT_SHARE_MAX  (JIT_MEMORY_MAX / 4) /* of a user's */
#define JIT_LOOK_MAX   (JIT_SHARE_MAX / 2)  /* of a look's files: the look before is there, too */

/* Takes memory for a user, `whose` as a job's (loop/worker.h). Returns false if there is none left
 * for the user or for all. */
bool jit_memory_take(uint64_t whose, size_t bytes);
void jit_memory_give(uint64_t whose, size_t bytes);

/* Returns how much all users have taken. */
size_t jit_memory_taken(void);
