/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why something failed: a sentence for people, which a function writes beside its errno. */
#pragma once

struct why {
	char text[1024];
};

/* Writes the sentence, cut to what fits. NULL: nobody wants it. */
void why_set(struct why *why, const char *format, ...) __attribute__((format(printf, 2, 3)));
