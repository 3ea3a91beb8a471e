// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/diff/versions.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/grow.h"
#include "output/diff/frame_place.h"

#define PLACES_MAX (1u << 22) /* lines and addresses that are compared; of more nothing is told */
#define MOVES_MAX  12	      /* the heaviest lines of a function: their moves are tried */
#define LINES_MAX  512	      /* of a function; of more no move is looked for */

/* Lines of a file have moved if so much more of the two profiles agrees when they are moved back.
 */
#define AGREES_LEAST 0.9
/* A module is another if less than this of its weight is at addresses that both profiles have. */
#define COMMON_LEAST 0.5
/* A file or module with less of each profile isn't looked at: too few samples tell nothing. */
#define SHARE_LEAST 0.005

struct version_key {
	uint64_t group, owner, number;
};

struct place_weight {
	uint64_t weights[2];
	bool is_line;
};

struct file_versions {
	uint64_t seed;
	struct map *places; /* struct version_key -> struct place_weight */
	struct map *others; /* hashes of groups that are of two versions -> uint8_t */
};

/* One place, with its share of its side's total. */
struct placed {
	struct version_key key;
	double shares[2];
	bool is_line;
};

int versions_new(struct file_versions **ret)
{
	struct file_versions *versions = calloc(1, sizeof(*versions));
	int r = versions ? 0 : -ENOMEM;

	if (r == 0) {
		versions->seed = hash_seed();
		r = map_new(&versions->places, sizeof(struct version_key),
			    sizeof(struct place_weight), PLACES_MAX);
	}
	if (r == 0)
		r = map_new(&versions->others, sizeof(uint64_t), sizeof(uint8_t), PLACES_MAX);
	if (r < 0)
		versions_free(versions);
	else
		*ret = versions;
	return r;
}

void versions_free(struct file_versions *versions)
{
	if (!versions)
		return;
	map_free(versions->places);
	map_free(versions->others);
	free(versions);
}

int versions_add(struct file_versions *versions, enum stacks_side side, uint64_t weight,
		 const char *name, size_t len)
{
	struct place_in_name place;
	void *value;

	if (!frame_place_find(name, len, &place))
		return 0;
	struct version_key key = {
		.group = hash_bytes(versions->seed, name + place.group_begin,
				    place.group_end - place.group_begin),
		.owner = hash_bytes(versions->seed, name, place.owner_len),
		.number = place.number,
	};
	int r = map_put(versions->places, &key, &value);
	if (r < 0)
		return r == -ENOSPC ? 0 : r;
	struct place_weight *known = value;
	known->weights[side] += weight;
	known->is_line = place.is_line;
	return 0;
}

static int compare_placed(const void *left, const void *right)
{
	const struct version_key *a = &((const struct placed *)left)->key;
	const struct version_key *b = &((const struct placed *)right)->key;

	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	if (a->owner != b->owner)
		return a->owner < b->owner ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static double smaller_share(double a, double b)
{
	return a < b ? a : b;
}

/* Returns the share of AFTER that a function has at a line. The lines are sorted. */
static double share_at(const struct placed *lines, size_t count, uint64_t number)
{
	size_t at = PARTITION_POINT(i, count, lines[i].key.number < number);

	return at < count && lines[at].key.number == number ? lines[at].shares[STACKS_AFTER] : 0;
}

/* How well BEFORE's lines of one function are AFTER's if they are moved. */
struct line_move {
	uint64_t by;
	double agrees;	/* the smaller share of each line, with both sides scaled to 1 */
	unsigned lines; /* that both have */
};

static struct line_move try_move(const struct placed *lines, size_t count, const double sums[2],
				 uint64_t by)
{
	struct line_move move = {.by = by};

	for (size_t i = 0; i < count; i++) {
		double before = lines[i].shares[STACKS_BEFORE] / sums[STACKS_BEFORE];
		double after =
			share_at(lines, count, lines[i].key.number + by) / sums[STACKS_AFTER];

		move.agrees += smaller_share(before, after);
		move.lines += before > 0 && after > 0;
	}
	return move;
}

/* Finds the heaviest lines of one side. Returns how many. */
static size_t find_heaviest(const struct placed *lines, size_t count, enum stacks_side side,
			    size_t heaviest[MOVES_MAX])
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++) {
		size_t at = found;

		while (at > 0 && lines[heaviest[at - 1]].shares[side] < lines[i].shares[side])
			at--;
		if (at == MOVES_MAX || lines[i].shares[side] <= 0)
			continue;
		found += found < MOVES_MAX;
		for (size_t j = found - 1; j > at; j--)
			heaviest[j] = heaviest[j - 1];
		heaviest[at] = i;
	}
	return found;
}

/* Returns the move that agrees most; of equal ones none. */
static struct line_move best_move(const struct placed *lines, size_t count, const double sums[2])
{
	size_t before[MOVES_MAX], after[MOVES_MAX];
	size_t befores = find_heaviest(lines, count, STACKS_BEFORE, before);
	size_t afters = find_heaviest(lines, count, STACKS_AFTER, after);
	struct line_move best = try_move(lines, count, sums, 0);

	for (size_t i = 0; count <= LINES_MAX && i < befores; i++) {
		for (size_t j = 0; j < afters; j++) {
			uint64_t by = lines[after[j]].key.number - lines[before[i]].key.number;
			struct line_move move = try_move(lines, count, sums, by);

			if (move.agrees > best.agrees)
				best = move;
		}
	}
	return best;
}

struct judged {
	double shares[2];
	double agrees, best; /* of functions that both have, by their weight */
	double common;	     /* weight at places that both have */
	/* Two lines have moved by the same: two of a function, or one of two functions. One alone
	 * may be another line of the same code that runs more now. */
	bool has_moved;
	uint64_t moves[MOVES_MAX]; /* of functions with one line that moved */
	size_t moves_count;
};

static void note_move(struct judged *judged, const struct line_move *move)
{
	if (!move->by)
		return;
	judged->has_moved |= move->lines > 1;
	for (size_t i = 0; i < judged->moves_count; i++)
		judged->has_moved |= judged->moves[i] == move->by;
	if (judged->moves_count < MOVES_MAX)
		judged->moves[judged->moves_count++] = move->by;
}

static void judge_function(struct judged *judged, const struct placed *lines, size_t count)
{
	double sums[2] = {0};

	for (size_t i = 0; i < count; i++) {
		const double *shares = lines[i].shares;

		for (int side = 0; side < 2; side++)
			sums[side] += shares[side];
		if (shares[0] > 0 && shares[1] > 0)
			judged->common += shares[0] + shares[1];
	}
	for (int side = 0; side < 2; side++)
		judged->shares[side] += sums[side];
	if (!lines->is_line || sums[0] <= 0 || sums[1] <= 0)
		return;
	struct line_move best = best_move(lines, count, sums);
	judged->agrees += (sums[0] + sums[1]) * try_move(lines, count, sums, 0).agrees;
	judged->best += (sums[0] + sums[1]) * best.agrees;
	note_move(judged, &best);
}

static bool is_other(const struct judged *judged, bool is_line)
{
	if (judged->shares[0] < SHARE_LEAST || judged->shares[1] < SHARE_LEAST)
		return false;
	return is_line ? judged->has_moved && judged->agrees < AGREES_LEAST * judged->best
		       : judged->common < COMMON_LEAST * (judged->shares[0] + judged->shares[1]);
}

/* Returns how many items from the first on have its group, or its function as well. */
static size_t same_until(const struct placed *placed, size_t count, bool owner)
{
	size_t i = 1;

	while (i < count && placed[i].key.group == placed->key.group &&
	       (!owner || placed[i].key.owner == placed->key.owner))
		i++;
	return i;
}

static int judge_group(struct file_versions *versions, const struct placed *placed, size_t count)
{
	struct judged judged = {0};
	void *value;

	for (size_t i = 0, n; i < count; i += n) {
		n = same_until(placed + i, count - i, true);
		judge_function(&judged, placed + i, n);
	}
	if (!is_other(&judged, placed->is_line))
		return 0;
	int r = map_put(versions->others, &placed->key.group, &value);
	return r < 0 ? r : 0;
}

int versions_compare(struct file_versions *versions, const uint64_t totals[2])
{
	size_t count = 0, all = map_count(versions->places);
	_cleanup_free_ struct placed *placed = calloc(all + 1, sizeof(*placed));
	const struct place_weight *weight;
	const struct version_key *key;
	int r = placed ? 0 : -ENOMEM;

	if (r < 0 || !totals[0] || !totals[1])
		return r;
	map_each (versions->places, pos, key, weight) {
		struct placed *one = &placed[count++];

		one->key = *key;
		one->is_line = weight->is_line;
		for (int side = 0; side < 2; side++)
			one->shares[side] = (double)weight->weights[side] / (double)totals[side];
	}
	qsort(placed, count, sizeof(*placed), compare_placed);
	for (size_t i = 0, n; r == 0 && i < count; i += n) {
		n = same_until(placed + i, count - i, false);
		r = judge_group(versions, placed + i, n);
	}
	return r;
}

bool versions_differ(const struct file_versions *versions, const char *group, size_t len)
{
	uint64_t hash = hash_bytes(versions->seed, group, len);

	return map_get(versions->others, &hash) != NULL;
}

size_t versions_different(const struct file_versions *versions)
{
	return map_count(versions->others);
}
