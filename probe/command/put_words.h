/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arguments of commands in the words of a PUT: its parser reads both, so that both have the same
 * rules. */
#pragma once

#include "api/request/request.h"
#include "base/buf.h"

/*
 * Reads a PUT's body that was made of arguments; changes it. Prints warnings, and what is wrong.
 * Returns 0 and the spec, which spec_done() frees; or an exit status.
 */
int put_words_read(struct buf *body, const struct rules *rules, struct spec *spec);
