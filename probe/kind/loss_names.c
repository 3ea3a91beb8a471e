// SPDX-License-Identifier: GPL-2.0-or-later
#include "kind/loss_names.h"

static const char *const losses[] = {LOSSES(NAMED_NAME)};

static const char *const truncations[] = {TRUNCATIONS(NAMED_NAME)};

const char *loss_name(enum loss loss)
{
	return losses[loss];
}

const char *truncation_name(enum truncation truncation)
{
	return truncations[truncation];
}
