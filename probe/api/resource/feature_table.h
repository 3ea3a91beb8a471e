/* SPDX-License-Identifier: GPL-2.0-only */
/* THE TABLE of features. A new feature is a new row. */
#pragma once

#include "api/feature/feature.h"

/* Nobody waits for ready(arg) any more; a PUT that isn't decided isn't taken. */
void services_forget(const struct services *services, const void *arg);

/* All rows; the count. */
size_t features_table(const struct feature **rows);

/* NULL: none has that name. */
const struct feature *feature_find(const char *name, size_t len);
