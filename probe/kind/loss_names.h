/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of the causes of loss and truncation, as GET, /metrics and doc/ show them. */
#pragma once

#include "bpf/shared/sample.h"

const char *loss_name(enum loss loss);
const char *truncation_name(enum truncation truncation);
