/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An enum and the names of its values, out of one list, each row X(VALUE, "name"):
 *
 *	enum loss { LOSSES(NAMED_VALUE) LOST_COUNT };
 *	static const char *const names[] = {LOSSES(NAMED_NAME)};
 *
 * The names are for GET, /metrics and doc/: they don't change.
 */
#pragma once

#define NAMED_VALUE(value, ...)	     value,
#define NAMED_NAME(value, name, ...) [value] = (name),
