/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parameters of a feature as rows of a table: name, type, range, default, scope, and the place in
 * struct params. Checking, merging, comparing and showing all follow the table. A feature's rows
 * are in its own room (session/session_params.c, sched/sched_params.c), a probe's in the probe's
 * own file (probes/NAME.c). A new parameter is a new row (and a line in the feature's document).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "select/spec.h"

enum param_type {
	PARAM_NUMBER,  /* int64_t */
	PARAM_FOLDER,  /* char[bytes], a folder for output */
	PARAM_SERVER,  /* char[bytes], a server for uploads */
	PARAM_TRIGGER, /* char[bytes], a trigger by pressure, or "" */
	PARAM_CHOICE,  /* int64_t: number of an entry of `choices`; in bodies the entry's text */
	PARAM_EVENTS,  /* the probes that a user defines, `bytes` of struct event_settings each in
			  its union probe_settings; in bodies an object of texts by name */
};

/* What a changed parameter changes. */
enum param_scope {
	PARAM_OF_FILES,	  /* what is collected, and its files: a period ends */
	PARAM_OF_UPLOADS, /* where to and how windows are sent */
	PARAM_OF_START,	  /* when collecting begins */
};

struct param {
	const char *name;
	enum param_type type;
	size_t offset; /* offset in struct params; of a probe's row: in the probe's own struct */
	size_t bytes;  /* size of a text, bytes */
	int64_t min, max;
	int64_t number; /* default of a number or a choice */
	const char *text;
	const char *const *choices; /* texts of the choices; a NULL ends them */
	enum param_scope scope;
	/*
	 * Name of another row that this row replaces. One body may have one of the two; the one
	 * that was set last counts, and only that one is shown. At its default, this row is unset.
	 */
	const char *instead_of;
	bool zero_is_default;
	bool alias;	  /* another name of a row: accepted, not shown */
	const char *unit; /* of a number; NULL: it has none */
	const char *help; /* what it means, for doc/ (Markdown, a sentence without its full stop) */
	bool logged;	  /* of a probe: the log tells the value when it takes effect */
};

/* Parts of rows: a number, a choice, a text in that field of a struct. */
#define PARAM_NUMBER_OF(of, field) .type = PARAM_NUMBER, .offset = offsetof(of, field)
#define PARAM_CHOICE_OF(of, field, texts)                                                          \
	.type = PARAM_CHOICE, .offset = offsetof(of, field), .choices = (texts)
#define PARAM_TEXT_OF(kind, of, field)                                                             \
	.type = kind, .offset = offsetof(of, field), .bytes = sizeof(((of *)NULL)->field)

/* Checks that a probe's own struct has room in struct params. */
#define PARAMS_FIT(of)                                                                             \
	_Static_assert(sizeof(of) <= sizeof(union probe_settings), "PROBE_SETTINGS_BYTES")

struct param_table {
	const struct param *rows;
	size_t count;
};

/* Sets the values of a probe's rows, in the probe's own struct, to their defaults. */
void params_default_rows(const struct param *rows, void *values);

/* Sets all params of the table to their defaults, and the rest to 0. */
void params_default(const struct param_table *table, struct params *params);

/* Returns whether all params of that scope have the same values. */
bool params_equal(const struct param_table *table, enum param_scope scope, const struct params *a,
		  const struct params *b);

/* Returns whether a parameter is shown: it is no alias, is not unset, and no other row replaces
 * it. */
bool param_shown(const struct param_table *table, const struct param *param,
		 const struct params *params);

/*
 * Return where the value of a parameter lies, as a number or a text: in struct params; of a probe's
 * row, in its own struct.
 */
int64_t *param_number(const struct param *param, const void *values);
char *param_text(const struct param *param, const void *values);
