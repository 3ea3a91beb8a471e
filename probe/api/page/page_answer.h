/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers for / and what is below /ui. Everybody may have them; what the page then asks for is
 * decided on like any other request. Loop thread only. */
#pragma once

#include "api/feature/feature.h"

struct page_asking {
	const struct services *services;
	const struct caller *caller;
	const char *path; /* "/", "/ui/NAME" */
	bool tls;
	/* headers; NULL: not sent */
	const char *host, *accept, *accept_encoding, *if_none_match;
};

/* Fills in the answer. */
void page_answer(const struct page_asking *asking, struct answer *answer);
