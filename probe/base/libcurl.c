// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/libcurl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"

struct libcurl libcurl;

/* The variant with GnuTLS comes first: libmicrohttpd has loaded GnuTLS already. */
static const char *const files[] = {"libcurl-gnutls.so.4", "libcurl.so.4"};

#define FUNCTION(name) {"curl_" #name, offsetof(struct libcurl, name)},
static const struct {
	const char *name;
	size_t offset;
} functions[] = {LIBCURL_FUNCTIONS(FUNCTION)};

static bool loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool find_all(void *library)
{
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		void *function = dlsym(library, functions[i].name);

		if (!function)
			return false;
		memcpy((char *)&libcurl + functions[i].offset, &function, sizeof(function));
	}
	return true;
}

static void load_library(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(files) && !loaded; i++) {
		void *library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);

		loaded = library && find_all(library);
	}
	if (loaded)
		loaded = libcurl.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

bool libcurl_load(void)
{
	pthread_once(&once, load_library);
	return loaded;
}
