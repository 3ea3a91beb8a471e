/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bearer tokens (RFC 6750): each role may have one, which is read from a file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "access/role.h"
#include "base/why.h"

#define TOKEN_MIN 16 /* characters */
#define TOKEN_MAX 256

struct token {
	size_t len; /* 0: no token */
	char text[TOKEN_MAX +
		  3]; /* has room for "\r\n" and one byte too many, to see a longer line */
};

/*
 * Reads a regular file whose only line is the token, TOKEN_MIN to TOKEN_MAX visible characters of
 * ASCII. *exposed: everybody may read the file. Returns 0, or a negative errno with a sentence in
 * `why`.
 */
int token_read(struct token *token, const char *path, bool *exposed, struct why *why);

/* Returns the largest role that has this token, or -ENOENT. Takes the same time for all texts of
 * the same length. */
int token_role(const struct token tokens[ROLES], const char *text);

/* Overwrites the token in memory. */
void token_done(struct token *token);
