/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The query of a request's URL, as libmicrohttpd has parsed it. */
#pragma once

#include "api/feature/feature.h"

struct MHD_Connection;

/* Reads the keys that requests know; the texts stay the connection's. Never fails: a number that is
 * none is QUERY_NONSENSE, and who needs it refuses the request. Other keys are warned of. */
void http_query_read(struct MHD_Connection *mhd, struct query *query, struct notes *notes);
