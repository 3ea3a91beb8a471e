/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What somebody may have meant by a word that there isn't. */
#pragma once

#include <stddef.h>

/*
 * Returns the word of a list that is most like `word`: at most two letters differ (a third of a
 * short word), are missing, too many or swapped; or one of the two begins with the other. NULL:
 * there is none. `words` are borrowed; case doesn't matter.
 */
const char *near_word(const char *word, const char *const *words, size_t count);
