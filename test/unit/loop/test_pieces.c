// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include <string.h>

#include "base/cleanup.h"
#include "loop/pieces.h"

struct scene {
	struct loop *loop;
	struct pieces pieces;
	struct loop_call other; /* of somebody else, again and again */
	int left;
	bool again; /* done() begins further work */
	char story[32];
	size_t len;
};

static void tell(struct scene *scene, char what)
{
	assert_true(scene->len + 1 < sizeof(scene->story));
	scene->story[scene->len++] = what;
}

static bool do_piece(void *arg)
{
	struct scene *scene = arg;

	tell(scene, 'p');
	return --scene->left > 0;
}

static void all_done(void *arg)
{
	struct scene *scene = arg;

	tell(scene, 'd');
	if (!scene->again) {
		loop_stop(scene->loop);
		return;
	}
	scene->again = false;
	scene->left = 1;
	pieces_begin(&scene->pieces, do_piece, all_done);
}

static void on_other(void *arg)
{
	struct scene *scene = arg;

	tell(scene, 'o');
	if (scene->len < 20)
		loop_post(scene->loop, &scene->other);
}

static void begin(struct scene *scene, int pieces)
{
	memset(scene, 0, sizeof(*scene));
	assert_int_equal(loop_new(&scene->loop), 0);
	pieces_init(&scene->pieces, scene->loop, "test", scene);
	scene->other = (struct loop_call){.run = on_other, .arg = scene};
	scene->left = pieces;
	pieces_begin(&scene->pieces, do_piece, all_done);
	assert_int_equal(scene->len, 0); /* never inside */
}

static void others_run_between_two_pieces(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene, 3);
	loop_post(scene.loop, &scene.other);
	assert_int_equal(loop_run(scene.loop), 0);
	assert_memory_equal(scene.story, "popopd", 6);
	loop_free(scene.loop);
}

static void the_end_may_begin_further_work(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene, 1);
	scene.again = true;
	assert_int_equal(loop_run(scene.loop), 0);
	assert_string_equal(scene.story, "pdpd");
	loop_free(scene.loop);
}

static void what_is_cancelled_runs_no_more(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene, 1);
	pieces_cancel(&scene.pieces);
	pieces_cancel(&scene.pieces);
	loop_flush(scene.loop);
	assert_int_equal(scene.len, 0);
	pieces_begin(&scene.pieces, do_piece, all_done); /* and can begin again */
	loop_flush(scene.loop);
	assert_string_equal(scene.story, "pd");
	loop_free(scene.loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others_run_between_two_pieces),
		cmocka_unit_test(the_end_may_begin_further_work),
		cmocka_unit_test(what_is_cancelled_runs_no_more),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
