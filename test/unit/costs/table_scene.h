/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table of costs, with the containers that it asks. */
#pragma once

#include "unit/lib/unit.h"

#include "costs/cost_table.h"
#include "loop/loop.h"

struct table_scene {
	struct loop *loop;
	struct worker *worker;
	struct containers *containers;
	struct cost_table *table;
};

static inline void table_scene_begin(struct table_scene *scene)
{
	assert_int_equal(loop_new(&scene->loop), 0);
	assert_int_equal(worker_new(&scene->worker, scene->loop, "test", NS_PER_S), 0);
	assert_int_equal(containers_new(&scene->containers, scene->loop, scene->worker), 0);
	assert_int_equal(cost_table_new(&scene->table, scene->containers), 0);
}

static inline void table_scene_end(struct table_scene *scene)
{
	worker_stop(scene->worker);
	cost_table_free(scene->table);
	containers_free(scene->containers);
	worker_free(scene->worker);
	loop_free(scene->loop);
}
