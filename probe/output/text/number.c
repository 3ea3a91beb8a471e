// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/text/number.h"

#include <string.h>

#include "base/cleanup.h"

char *number_put(char *p, uint64_t value)
{
	char digits[20];
	char *d = digits + sizeof(digits);

	do {
		*--d = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	size_t len = (size_t)(digits + sizeof(digits) - d);
	memcpy(p, d, len);
	return p + len;
}

char *number_put_grouped(char *p, uint64_t value)
{
	char digits[26]; /* 20 digits and 6 commas */
	char *d = digits + sizeof(digits);

	for (int i = 0; i == 0 || value; i++) {
		if (i && i % 3 == 0)
			*--d = ',';
		*--d = (char)('0' + value % 10);
		value /= 10;
	}
	size_t len = (size_t)(digits + sizeof(digits) - d);
	memcpy(p, d, len);
	return p + len;
}

char *number_put_fixed(char *p, uint64_t value, int decimals, bool trim)
{
	char digits[3] = "";
	int count = decimals;

	for (int i = decimals; i-- > 0; value /= 10)
		digits[i] = (char)('0' + value % 10);
	while (trim && count > 0 && digits[count - 1] == '0')
		count--;
	p = number_put(p, value);
	if (count > 0)
		*p++ = '.';
	for (int i = 0; i < count; i++)
		*p++ = digits[i];
	return p;
}

struct scale {
	uint64_t size; /* in the unit that is scaled */
	const char *name;
};

/* Writes the value in the largest scale that it has at least one of. */
static char *put_scaled(char *p, uint64_t value, const struct scale *scales, size_t count)
{
	const struct scale *scale = scales;

	for (size_t i = 1; i < count && value >= scales[i].size; i++)
		scale = &scales[i];
	p = number_put_fixed(p, number_share(value, 10, scale->size), 1, true);
	*p++ = ' ';
	size_t len = strlen(scale->name);
	memcpy(p, scale->name, len);
	return p + len;
}

char *number_put_amount(char *p, uint64_t value, const char *unit)
{
	static const struct scale times[] = {
		{1000, "ms"}, {1000000, "s"}, {60000000, "min"}, {UINT64_C(3600000000), "h"}};
	static const struct scale sizes[] = {{UINT64_C(1) << 10, "KiB"},
					     {UINT64_C(1) << 20, "MiB"},
					     {UINT64_C(1) << 30, "GiB"},
					     {UINT64_C(1) << 40, "TiB"}};

	if (strcmp(unit, "us") == 0 && value >= 10000)
		return put_scaled(p, value, times, ARRAY_SIZE(times));
	if (strcmp(unit, "bytes") == 0 && value >= 10240)
		return put_scaled(p, value, sizes, ARRAY_SIZE(sizes));
	return p;
}

uint64_t number_share(uint64_t value, uint64_t scale, uint64_t total)
{
	uint64_t product;

	if (!total)
		return 0;
	if (!__builtin_mul_overflow(value, scale, &product) &&
	    !__builtin_add_overflow(product, total / 2, &product))
		return product / total;
	return (uint64_t)(((unsigned __int128)value * scale + total / 2) / total);
}
