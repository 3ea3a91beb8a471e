/* SPDX-License-Identifier: GPL-2.0-only */
/* The body of a PUT -> a spec. All or nothing; messages are gala-gopher's where it has them. */
#pragma once

#include <stddef.h>

#include "output/store.h"
#include "profile/spec.h"

#define REQUEST_BODY_MAX    (1024 * 1024)
#define REQUEST_MESSAGE_MAX 1024

/*
 * Reads a body (`json=<JSON>` raw or URL-encoded, or plain JSON) of the feature `feature` on top of
 * `before` (NULL: the defaults) into `spec`. `data` is changed. On -EINVAL `message` has one
 * sentence for people, in valid UTF-8, and `spec` is untouched; -ENOMEM likewise.
 */
int request_parse(char *data, size_t bytes, const char *feature, const struct spec *before,
		  const struct store_roots *roots, struct spec *spec,
		  char message[REQUEST_MESSAGE_MAX]);
