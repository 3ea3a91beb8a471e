/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Translates the params of a spec, which are plain data, into the settings of sampling and
 * profiles. Any thread.
 */
#pragma once

#include "profile/stack_detail.h"
#include "select/spec.h"

/* Fills in which details of stacks are shown. */
void params_detail(const struct params *params, struct stack_detail *detail);

/* Returns the ns between samples on each busy CPU. */
uint64_t params_period_ns(const struct params *params);
