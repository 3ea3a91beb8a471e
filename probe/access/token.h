/* SPDX-License-Identifier: GPL-2.0-only */
/* Bearer tokens (RFC 6750): one of a file for each role. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "access/role.h"

#define TOKEN_MIN 16 /* characters */
#define TOKEN_MAX 256

struct token {
	size_t len;		  /* 0: none */
	char text[TOKEN_MAX + 3]; /* with room for a line end, and for a byte more */
};

/*
 * Reads a regular file that has the token as its only line, TOKEN_MIN to TOKEN_MAX visible
 * characters of ASCII. `exposed`: everybody may read the file. Negative errno and what is wrong in
 * `why`.
 */
int token_read(struct token *token, const char *path, bool *exposed, char *why, size_t why_bytes);

/* The largest role whose token this is, or -ENOENT. Takes the same time for any text of a length.
 */
int token_role(const struct token tokens[ROLES], const char *text);

/* Overwrites it. */
void token_done(struct token *token);
