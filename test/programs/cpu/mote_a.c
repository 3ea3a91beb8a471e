/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mote.h"

MOTE(a)
