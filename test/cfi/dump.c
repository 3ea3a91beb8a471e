// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Prints a file's unwind table for test/cfi/check: `dump FILE` the rows of its CFI, `dump -p FILE`
 * the same out of the packed table, `dump -m FILE` times and sizes.
 *
 *	address cfa fp ra bx		hexadecimal; cfa: r7+16, *(r6-8)+0; others: u (same), c-16
 * (at CFA - 16), a+8 (at the CFA's register + 8), lost, r30
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/cleanup.h"
#include "unwind/image_pack.h"

static void print_saved(const struct saved *saved, bool is_ra)
{
	if (saved->kind == SAVED_SAME)
		printf(" u");
	else if (saved->kind == SAVED_AT_CFA)
		printf(" c%+d", saved->offset);
	else if (saved->kind == SAVED_AT_REG)
		printf(" a%+d", saved->offset);
	else if (is_ra)
		printf(" r%d", saved->reg);
	else
		printf(" lost");
}

static void print_row(uint64_t address, const struct rule *rule)
{
	static const char *const unsupported[UNSUPPORTED_COUNT] = {
		[UNSUPPORTED_CFA_EXPRESSION] = "cfa-expression",
		[UNSUPPORTED_CFA_REGISTER] = "cfa-register",
		[UNSUPPORTED_CFA_OFFSET] = "cfa-offset",
		[UNSUPPORTED_RA] = "ra",
		[UNSUPPORTED_SP] = "sp",
		[UNSUPPORTED_PROGRAM] = "program",
	};

	printf("%" PRIx64, address);
	switch (rule->kind) {
	case RULE_NONE:
	case RULE_FRAMES: /* readelf knows nothing of code */
		puts(" none");
		return;
	case RULE_END:
		puts(" end");
		return;
	case RULE_LUAJIT:
		puts(" luajit");
		return;
	case RULE_PLT:
		printf(" plt%u\n", rule->plt_from);
		return;
	case RULE_UNSUPPORTED:
		printf(" unsupported:%s\n", unsupported[rule->unsupported]);
		return;
	case RULE_CFA:
		break;
	}
	if (rule->cfa_index)
		printf(" *(r%u%+d+8*r%u)%+d", rule->cfa_reg, rule->cfa_offset, rule->cfa_index,
		       rule->cfa_post);
	else if (rule->cfa_deref)
		printf(" *(r%u%+d)%+d", rule->cfa_reg, rule->cfa_offset, rule->cfa_post);
	else
		printf(" r%u%+d", rule->cfa_reg, rule->cfa_offset);
	print_saved(&rule->fp, false);
	print_saved(&rule->ra, true);
	print_saved(&rule->bx, false);
	puts(rule->signal ? " signal" : "");
}

static int print_sink(void *arg, uint64_t address, const struct rule *rule)
{
	(void)arg;
	print_row(address, rule);
	return 0;
}

static int count_sink(void *arg, uint64_t address, const struct rule *rule)
{
	(void)address;
	(void)rule;
	++*(uint64_t *)arg;
	return 0;
}

/* As image_build(), of CFI alone: readelf knows nothing of Go's own tables. */
static int build_of_cfi(int fd, bool tracks_bx, struct table_image *image)
{
	_cleanup_(packer_free) struct packer *packer = NULL;
	struct elf_image elf;
	int r = elf_read(fd, &elf);

	*image = (struct table_image){.machine = elf.machine};
	if (r == 0)
		r = packer_new(&packer, &elf, tracks_bx);
	if (r == 0)
		r = cfi_read(fd, &elf, packer_row, packer, &image->stats);
	if (r == PACKER_WANTS_BX && !tracks_bx)
		return build_of_cfi(fd, true, image);
	return r ? r : packer_finish(packer, image);
}

/* Byte by byte, as a walk finds it. */
static int print_packed(int fd)
{
	struct table_image image;
	struct rule rule, last = {.kind = RULE_NONE};
	int r = build_of_cfi(fd, false, &image);

	if (r < 0)
		return r;
	for (uint64_t at = 0; at <= (uint64_t)image.blocks << BLOCK_SHIFT; at++) {
		image_find(&image, image.low + at, &rule);
		if (!rule_is_equal(&rule, &last))
			print_row(image.low + at, &rule);
		last = rule;
	}
	image_done(&image);
	return 0;
}

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now); /* others may be busy */
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int measure(int fd)
{
	struct table_image image;
	struct elf_image elf;
	struct cfi_stats stats;
	struct rusage usage;
	uint64_t rows = 0;
	double start = now_ms(), read;

	if (elf_read(fd, &elf) < 0 || cfi_read(fd, &elf, count_sink, &rows, &stats) < 0)
		return -1;
	read = now_ms();
	int r = image_build(fd, &image);
	double built = now_ms();
	if (r < 0)
		return r;
	getrusage(RUSAGE_SELF, &usage);
	printf("rows %" PRIu64 " packed %" PRIu64 " functions %" PRIu64 " broken %" PRIu64
	       " overlapping %" PRIu64
	       " words %zu rules %u blocks %u bx %d read %.1f ms build %.1f ms "
	       "%.1f ns/row rss %ld KiB\n",
	       rows, image.stats.rows, stats.functions, stats.broken, stats.overlapping,
	       image.count, image.index / RULE_WORDS, image.blocks, image.tracks_bx, read - start,
	       built - read, (built - read) * 1e6 / (double)image.stats.rows, usage.ru_maxrss);
	image_done(&image);
	return 0;
}

int main(int argc, char **argv)
{
	struct elf_image elf;
	struct cfi_stats stats;
	int r;

	if (argc < 2)
		return 2;
	_cleanup_close_ int fd = open(argv[argc - 1], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return 2;
	if (strcmp(argv[1], "-m") == 0) {
		r = measure(fd);
	} else if (strcmp(argv[1], "-p") == 0) {
		r = print_packed(fd);
	} else {
		r = elf_read(fd, &elf);
		if (r == 0)
			r = cfi_read(fd, &elf, print_sink, NULL, &stats);
	}
	if (r < 0)
		fprintf(stderr, "%s: %s\n", argv[argc - 1], strerror(-r));
	return r < 0;
}
