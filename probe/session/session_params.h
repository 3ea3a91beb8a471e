/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parameters of the feature /flamegraph, those of the probes among them. Constant; any thread. */
#pragma once

#include "select/param.h"

/* Most parameters of one probe. */
#define PROBE_PARAMS_MAX 8

const struct param_table *flamegraph_params(void);

/* Return the text of a choice. Static text. */
const char *java_source_name(enum java_source source);
const char *pyroscope_api_name(enum pyroscope_api api);
