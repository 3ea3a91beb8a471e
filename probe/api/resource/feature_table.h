/* SPDX-License-Identifier: GPL-2.0-or-later */
/* THE TABLE of features. A new feature is a new row. */
#pragma once

#include "api/feature/feature.h"

/* Withdraws a request: ready(arg) won't be called; a PUT that isn't decided yet is dropped. */
void services_forget(const struct services *services, const void *arg);

/* Returns the number of rows; *rows: all rows. */
size_t features_table(const struct feature **rows);

/* Returns the feature of that name, or NULL. */
const struct feature *feature_find(const char *name, size_t len);
