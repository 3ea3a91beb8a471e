/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an answer says beside its result: warnings about a request that is taken nevertheless, and
 * the detail of one that is refused. Of a fixed size, nothing is to be freed; zeroed: nothing is
 * said. Texts are cut to what fits, and are valid UTF-8.
 */
#pragma once

#include <stddef.h>

#define WARNINGS_MAX  16
#define WARNING_BYTES 256
#define DETAIL_BYTES  1024

struct notes {
	char warnings[WARNINGS_MAX][WARNING_BYTES];
	unsigned count; /* of warnings said; those after WARNINGS_MAX aren't kept */
	char detail[DETAIL_BYTES];
};

/* Add a warning, set the detail. `notes` NULL: nobody wants it. */
void notes_warn(struct notes *notes, const char *format, ...) __attribute__((format(printf, 2, 3)));
void notes_explain(struct notes *notes, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Warns of a key that there isn't: says where it stands, what there is, and what may be meant. */
void notes_unknown(struct notes *notes, const char *where, const char *key,
		   const char *const *known, size_t count);
