/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What this program says of itself, for the lists in doc/ (scripts/documents). */
#pragma once

/* Writes what there is of `subject` ("probes", "metrics" …) to standard output, as Markdown.
 * Returns the exit status of the program. */
int describe(const char *subject);
