/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GET /windows, what history has; GET /changes, which functions changed between two ranges of it;
 * GET /anomalies, which processes are unlike their own past. Loop thread only. */
#pragma once

#include "api/feature/feature.h"

/* Fill in the answer, or leave its status 0 and call ready(arg) later. */
void windows_get(const struct services *services, const struct query *query, struct answer *answer,
		 void (*ready)(void *arg), void *arg);
void changes_get(const struct services *services, const struct query *query, struct answer *answer,
		 void (*ready)(void *arg), void *arg);
void anomalies_get(const struct services *services, const struct query *query,
		   struct answer *answer, void (*ready)(void *arg), void *arg);
