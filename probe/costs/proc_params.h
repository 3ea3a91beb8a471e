/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parameters of the feature /proc. Constant; any thread. */
#pragma once

#include "select/param.h"

const struct param_table *proc_params(void);
