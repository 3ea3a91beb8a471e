// SPDX-License-Identifier: GPL-2.0-or-later
/* What bpf/core/arch_arm64.h knows of arm64's instructions, tried on any processor. */
#include "unit/lib/unit.h"

#ifdef __aarch64__
#include "bpf/core/arch.h"
#else
#define ARCH_REGS 32
#include "bpf/core/arch_arm64.h"
#endif

#define RETURN 0x400100

static void bytes_of(uint32_t instruction, uint8_t code[ARCH_CALL_BYTES])
{
	static const uint32_t nop = 0xd503201f;

	memcpy(code, &nop, 4);
	memcpy(code + 4, &instruction, 4);
}

static bool is_call(uint32_t instruction)
{
	uint8_t code[ARCH_CALL_BYTES];

	bytes_of(instruction, code);
	return arch_ends_with_call(code);
}

static uint64_t target_of(uint32_t instruction)
{
	uint8_t code[ARCH_CALL_BYTES];

	bytes_of(instruction, code);
	return arch_call_target(code, RETURN);
}

static void calls_are_known_from_jumps_and_returns(void **state)
{
	(void)state;
	assert_true(is_call(0x94000001));  /* bl +4 */
	assert_true(is_call(0x97ffffff));  /* bl -4 */
	assert_true(is_call(0xd63f0060));  /* blr x3 */
	assert_true(is_call(0xd63f03c0));  /* blr x30 */
	assert_true(is_call(0xd63f083f));  /* blraaz x1 */
	assert_true(is_call(0xd73f0822));  /* blraa x1, x2 */
	assert_true(is_call(0xd73f0c22));  /* blrab x1, x2 */
	assert_false(is_call(0x14000001)); /* b +4 */
	assert_false(is_call(0xd61f0060)); /* br x3 */
	assert_false(is_call(0xd71f0822)); /* braa x1, x2 */
	assert_false(is_call(0xd65f03c0)); /* ret */
	assert_false(is_call(0xd503201f)); /* nop */
}

static void a_direct_call_tells_where_it_goes(void **state)
{
	(void)state;
	assert_int_equal(target_of(0x94000001), RETURN);
	assert_int_equal(target_of(0x97ffffff), RETURN - 8);
	assert_int_equal(target_of(0x94000400), RETURN - 4 + 0x1000);
	assert_int_equal(target_of(0xd63f0060), 0);
}

static void a_signature_is_taken_off_a_return_address(void **state)
{
	(void)state;
	assert_int_equal(arch_code_address(0x0000aaaabbbb1234), 0xaaaabbbb1234);
	assert_int_equal(arch_code_address(0x7f31aaaabbbb1234), 0xaaaabbbb1234);
	assert_int_equal(arch_code_address(0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_are_known_from_jumps_and_returns),
		cmocka_unit_test(a_direct_call_tells_where_it_goes),
		cmocka_unit_test(a_signature_is_taken_off_a_return_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
