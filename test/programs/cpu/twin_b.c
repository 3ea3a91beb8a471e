/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "twin.h"

TWIN(b)
