// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/status/status_codes.h"

void status_codes(cJSON *to, const char *pieces, const struct code_cache_stats *codes)
{
	cJSON_AddNumberToObject(to, pieces, (double)codes->known);
	cJSON_AddNumberToObject(to, "bytes", (double)codes->bytes);
	cJSON_AddNumberToObject(to, "read", (double)codes->read);
	cJSON *causes = cJSON_AddObjectToObject(to, "lost");
	for (int i = 0; i < CODE_LOST_COUNT; i++)
		cJSON_AddNumberToObject(causes, code_loss_name(i), (double)codes->lost[i]);
}
