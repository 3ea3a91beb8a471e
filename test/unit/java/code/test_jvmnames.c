// SPDX-License-Identifier: GPL-2.0-or-later
/* Names, signatures, tables of lines and bytecodes of a Java VM. */
#include "unit/lib/unit.h"

#include "java/code/jvmbytecodes.h"
#include "java/code/jvmlines.h"
#include "java/code/jvmnames.h"
#include "java/code/unsigned5.h"

#define TEXT(literal) (const uint8_t *)(literal), sizeof(literal) - 1

static void assert_name(const struct jvmname *name, const char *expected)
{
	assert_int_equal(name->len, strlen(expected));
	assert_memory_equal(name->text, expected, name->len);
}

static void assert_class(const char *from, const char *expected)
{
	struct jvmname name;

	assert_int_equal(jvmname_decode(&name, (const uint8_t *)from, strlen(from)), 0);
	jvmname_class(&name);
	assert_name(&name, expected);
}

static void classes_are_stable(void **state)
{
	(void)state;
	assert_class("java/util/HashMap", "java.util.HashMap");
	assert_class("Known", "Known");
	assert_class("a/Known$$Lambda$15+0x000071d4c8001000", "a.Known$$Lambda");
	assert_class("a/Known$$Lambda$15/0x000071d4c8001000", "a.Known$$Lambda");
	assert_class("a/Known$$Lambda$1/791452441", "a.Known$$Lambda");
	assert_class("a/Known$$Lambda+0x000071d4c8001000", "a.Known$$Lambda");
	assert_class("a/Known$$Lambda.0x000071d4c8001000", "a.Known$$Lambda");
	assert_class("java/lang/invoke/LambdaForm$MH+0x0000000800c03000",
		     "java.lang.invoke.LambdaForm$MH");
	assert_class("a/Known$Hidden+0x01", "a.Known$Hidden");
	assert_class("a/Known$12", "a.Known$12");
	assert_class("a/Known0x12", "a.Known0x12");
	assert_class("0x12", "0x12");
	assert_class("+0x", "+0x");
	assert_class("/0x12", ".0x12");
	assert_class("jdk/internal/reflect/GeneratedMethodAccessor12",
		     "jdk.internal.reflect.GeneratedMethodAccessor");
	assert_class("sun/reflect/GeneratedConstructorAccessor1",
		     "sun.reflect.GeneratedConstructorAccessor");
	assert_class("a/GeneratedMethodAccessor12", "a.GeneratedMethodAccessor12");
	assert_class("jdk/proxy2/$Proxy7", "jdk.proxy.$Proxy");
	assert_class("com/sun/proxy/$Proxy7", "com.sun.proxy.$Proxy");
	assert_class("$Proxy7", "$Proxy");
	assert_class("My$Proxy7", "My$Proxy7");
	assert_class("jdk/proxy2", "jdk.proxy2");
	assert_class("", "");
}

static void assert_signature(const char *from, const char *expected)
{
	struct jvmname descriptor, signature;

	assert_int_equal(jvmname_decode(&descriptor, (const uint8_t *)from, strlen(from)), 0);
	int r = jvmname_signature(&signature, &descriptor);
	assert_int_equal(r, expected ? 0 : -EBADMSG);
	if (expected)
		assert_name(&signature, expected);
}

static void signatures_are_readable(void **state)
{
	(void)state;
	assert_signature("()V", "()");
	assert_signature("(I)V", "(int)");
	assert_signature("(BCDFIJSZ)I", "(byte, char, double, float, int, long, short, boolean)");
	assert_signature("(I[[Ljava/lang/String;J)Ljava/lang/Object;",
			 "(int, java.lang.String[][], long)");
	assert_signature("(La/B$$Lambda$3+0x12;)V", "(a.B$$Lambda)");
	assert_signature("", NULL);
	assert_signature("I", NULL);
	assert_signature("(", NULL);
	assert_signature("(X)V", NULL);
	assert_signature("([", NULL);
	assert_signature("(Ljava/lang", NULL);
	assert_signature("(L;)V", NULL);
}

static void modified_utf8_is_utf8(void **state)
{
	struct jvmname name;

	(void)state;
	assert_int_equal(jvmname_decode(&name, TEXT("\xc3\xa9\xe2\x82\xac")), 0);
	assert_name(&name, "\xc3\xa9\xe2\x82\xac");
	assert_int_equal(jvmname_decode(&name, TEXT("\xed\xa0\xbd\xed\xb8\x80!")), 0);
	assert_name(&name, "\xf0\x9f\x98\x80!");
	assert_int_equal(jvmname_decode(&name, TEXT("\xed\xa0\xbd!\xc0\x80")), 0);
	assert_name(&name, "\xef\xbf\xbd!\xef\xbf\xbd");
	assert_int_equal(jvmname_decode(&name, TEXT("a\xff")), -EBADMSG);
	assert_int_equal(jvmname_decode(&name, TEXT("a\0b")), -EBADMSG);
	assert_int_equal(jvmname_decode(&name, TEXT("\xe2\x82")), -EBADMSG);
	assert_int_equal(jvmname_decode(&name, TEXT("\xf0\x9f\x98\x80")), -EBADMSG);
	assert_int_equal(jvmname_decode(&name, TEXT("\x80")), -EBADMSG);
}

static void long_names_are_cut(void **state)
{
	static uint8_t text[2 * JVMNAME_BYTES_MAX];
	struct jvmname name, signature;

	(void)state;
	for (size_t i = 0; i < sizeof(text); i += 2)
		memcpy(text + i, "\xc3\xa9", 2);
	assert_int_equal(jvmname_decode(&name, text, sizeof(text)), 0);
	assert_in_range(name.len, JVMNAME_BYTES_MAX - 2, JVMNAME_BYTES_MAX);
	assert_memory_equal(name.text + name.len - 5, "\xc3\xa9\xe2\x80\xa6", 5);
	memset(text, 'J', sizeof(text));
	text[0] = '(';
	memcpy(text + JVMNAME_BYTES_MAX - 100, ")V", 2);
	assert_int_equal(jvmname_decode(&name, text, JVMNAME_BYTES_MAX - 98), 0);
	assert_int_equal(jvmname_signature(&signature, &name), 0);
	assert_in_range(signature.len, JVMNAME_BYTES_MAX - 5, JVMNAME_BYTES_MAX);
}

static void text_that_is_no_symbol(void **state)
{
	struct jvmname name;

	(void)state;
	jvmname_text(&name, "I2C/C2I adapters\0more", 21);
	assert_name(&name, "I2C/C2I adapters");
	jvmname_text(&name,
		     "a\xff"
		     "b\xc3",
		     4);
	assert_name(&name, "a\xef\xbf\xbd"
			   "b\xef\xbf\xbd");
}

static void assert_number(const char *bytes, size_t count, uint8_t base, uint32_t expected)
{
	struct unsigned5 stream = {.data = (const uint8_t *)bytes, .bytes = count, .base = base};

	assert_int_equal(unsigned5_next(&stream), expected);
	assert_false(stream.wrong);
	assert_int_equal(stream.at, count);
}

static void numbers_of_both_forms(void **state)
{
	struct unsigned5 stream = {.data = (const uint8_t *)"\xff\xff", .bytes = 2};

	(void)state;
	assert_number("\0", 1, 0, 0);
	assert_number("\xbf", 1, 0, 191);
	assert_number("\xc0\x00", 2, 0, 192);
	assert_number("\xff\xff\xff\xff\x14", 5, 0,
		      255 + (255 << 6) + (255 << 12) + (255 << 18) + (20U << 24));
	assert_number("\x01", 1, 1, 0);
	assert_number("\xbf", 1, 1, 190);
	assert_number("\xc0\x01", 2, 1, 191);
	assert_int_equal(unsigned5_next(&stream), 0);
	assert_true(stream.wrong);
	assert_int_equal(unsigned5_base(17), 0);
	assert_int_equal(unsigned5_base(21), 1);
}

static void lines_as_the_vm_says_them(void **state)
{
	/* 0: line 100; 5: 101; 9: 90; 9: 91, the end. */
	const uint8_t table[] = {0xff, 0, 192 + 8, 0, 5 << 3 | 1, 0xff, 8, 21, 0 << 3 | 1, 0, 77};
	struct jvmline lines[16];

	(void)state;
	size_t count = jvmlines_decode(lines, 16, table, sizeof(table), 0);
	assert_int_equal(count, 4);
	assert_int_equal(jvmlines_line(lines, count, 0), 100);
	assert_int_equal(jvmlines_line(lines, count, 4), 100);
	assert_int_equal(jvmlines_line(lines, count, 5), 101);
	assert_int_equal(jvmlines_line(lines, count, 9), 90);
	assert_int_equal(jvmlines_line(lines, count, 10), 91);
	assert_int_equal(jvmlines_line(lines, 0, 10), 0);
	assert_int_equal(jvmlines_decode(lines, 2, table, sizeof(table), 0), 2);
	assert_int_equal(jvmlines_decode(lines, 16, table, 2, 0), 0);
}

static void bytecodes_that_call(void **state)
{
	const uint8_t lookup[] = {0xab, 0, 0, 0, 0, 0, 0, 20, 0,  0,   0,
				  1,	0, 0, 0, 5, 0, 0, 0,  20, 0xb1};
	const uint8_t table[] = {0x00, 0xaa, 0, 0, 0, 0, 0, 9, 0, 0,   0,
				 1,    0,    0, 0, 1, 0, 0, 0, 9, 0xb1};

	(void)state;
	assert_true(jvmbytecodes_call_nothing(TEXT("\x1a\x10\xb8\x60\xac"), 17));
	assert_false(jvmbytecodes_call_nothing(TEXT("\x1a\xb8\0\1\xac"), 17));
	assert_false(jvmbytecodes_call_nothing(TEXT("\x1a\x10"), 17)); /* cut */
	assert_false(jvmbytecodes_call_nothing(TEXT("\xca\xb1"), 17)); /* a breakpoint */
	assert_true(jvmbytecodes_call_nothing(TEXT("\xc4\x84\0\1\0\xb8\xb1"), 17)); /* wide */
	assert_true(jvmbytecodes_call_nothing(lookup, sizeof(lookup), 17));
	assert_true(jvmbytecodes_call_nothing(table, sizeof(table), 17));
	assert_false(jvmbytecodes_call_nothing(table, sizeof(table) - 2, 17));
	/* aload_0 and getfield as one; in 8 nobody knows. */
	assert_true(jvmbytecodes_call_nothing(TEXT("\xdd\xd0\0\1\xac"), 17));
	assert_false(jvmbytecodes_call_nothing(TEXT("\xdd\xd0\0\1\xac"), 8));
	assert_false(jvmbytecodes_call_nothing(TEXT("\xe9\0\1\xac"), 17)); /* invokehandle */
	assert_false(jvmbytecodes_call_nothing(TEXT(""), 17));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classes_are_stable),
		cmocka_unit_test(signatures_are_readable),
		cmocka_unit_test(modified_utf8_is_utf8),
		cmocka_unit_test(long_names_are_cut),
		cmocka_unit_test(text_that_is_no_symbol),
		cmocka_unit_test(numbers_of_both_forms),
		cmocka_unit_test(lines_as_the_vm_says_them),
		cmocka_unit_test(bytecodes_that_call),
	};

	return cmocka_run_group_tests_name("jvmnames", tests, NULL, NULL);
}
