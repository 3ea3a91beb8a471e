// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/status/status_codes.h"

void status_codes(struct json *json, const char *pieces, const struct code_cache_stats *codes)
{
	json_numbers(json, {pieces, codes->known}, {"bytes", codes->bytes}, {"read", codes->read});
	json_counts(json, "lost", 0, CODE_LOST_COUNT, code_loss_name, codes->lost);
}
