/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packer: turns rows into a table's words while the rows arrive, so that they are never in memory
 * as a whole. */
#pragma once

#include "base/cleanup.h"
#include "unwind/image.h"

#define PACKER_WANTS_BX 1

struct packer;

/* Makes a packer for a file's executable segments. Returns 0, or a negative errno: -ENOENT if there
 * are none or the processor is unknown; -EBADMSG if their addresses make no sense; -EFBIG if the
 * addresses reach too far; -ENOMEM. */
int packer_new(struct packer **ret, const struct elf_image *elf, bool tracks_bx);
void packer_free(struct packer **packer);

/* Takes a row; a row_sink. Returns 0; PACKER_WANTS_BX if a CFA is kept in rbx and the packer
 * doesn't track rbx; or a negative errno: -EFBIG if there are too many rules; -ENOMEM; -EINVAL if
 * the row isn't in order or lies outside of the segments. */
int packer_row(void *packer, uint64_t address, const struct rule *rule);

/* Fills in the image's words, index, blocks, low, tracks_bx and stats.rows. The packer can only be
 * freed after that. Returns 0, -ENOMEM, or -EFBIG. */
int packer_finish(struct packer *packer, struct table_image *image);
