// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/why.h"

#include <stdarg.h>
#include <stdio.h>

void why_set(struct why *why, const char *format, ...)
{
	va_list args;

	if (!why)
		return;
	va_start(args, format);
	vsnprintf(why->text, sizeof(why->text), format, args);
	va_end(args);
}
