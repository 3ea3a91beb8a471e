// SPDX-License-Identifier: GPL-2.0-or-later
package truth;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/**
 * A kind of code. Its turns burn CPU time in stacks that were told before. What burns is written in each
 * anew: code is held at its level by its class's name (Levels).
 */
interface Leaf {
	/** As long as `amount` says; asks `worker` to write down the stack, where it is deepest. */
	void turn(long amount, Worker worker) throws Throwable;

	/** What may be below the stacks that were told. */
	@Retention(RetentionPolicy.RUNTIME)
	@interface Below {
		/** The class library. */
		String LIBRARY = "^(java|javax|jdk|sun|com\\.sun)\\.";

		/** A regular expression for `class.method`. */
		String value() default "";

		/** What the leaf-most Java frame has to be; a regular expression. */
		String must() default "";

		/** It goes up and down: any part of a told stack, from its root on, is right. */
		boolean partial() default false;

		/** Calls of turn() in a row: many, so that it is compiled, unless what leads to the leaf
		 * would be seen too often. */
		int calls() default 200;
	}
}
