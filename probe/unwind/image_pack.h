/* SPDX-License-Identifier: GPL-2.0-only */
/* Packs rows into a table's words while they come, so that they are never there at length. */
#pragma once

#include "base/cleanup.h"
#include "unwind/image.h"

#define PACKER_WANTS_BX 1

struct packer;

/* For a file's executable segments. -ENOENT it has none, or of another processor; -EFBIG, -ENOMEM
 */
int packer_new(struct packer **ret, const struct elf_image *elf, bool tracks_bx);
void packer_free(struct packer **packer);

/* A row_sink. PACKER_WANTS_BX: a CFA is kept in rbx, and the packer doesn't track it. -EFBIG,
 * -ENOMEM, -EINVAL: not in order, or outside of the segments. */
int packer_row(void *packer, uint64_t address, const struct rule *rule);

/* Fills in what is about words, and stats.rows. The packer is of no more use. */
int packer_finish(struct packer *packer, struct table_image *image);
