/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parameters of the feature /sched. Constant; any thread. */
#pragma once

#include "select/param.h"

const struct param_table *sched_params(void);
