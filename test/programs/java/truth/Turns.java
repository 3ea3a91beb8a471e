// SPDX-License-Identifier: GPL-2.0-or-later
package truth;

import java.io.File;

/**
 * Works in outer() for ever. Once the file of its first argument is there, a virtual thread works
 * beside it, in virtually(), and sleeps now and then.
 */
class Turns {
	static volatile long sink;

	static long inner(int n) {
		long sum = 0;

		for (int i = 0; i < n; i++)
			sum += Integer.toString(i).hashCode();
		return sum;
	}

	static void outer() {
		sink += inner(2000);
	}

	static void virtually() {
		for (int turns = 1;; turns++) {
			sink += inner(2000);
			if (turns % 50 == 0)
				Thread.yield();
		}
	}

	private static void startVirtual() throws ReflectiveOperationException {
		Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
		Class<?> type = Class.forName("java.lang.Thread$Builder");
		Runnable work = Turns::virtually;

		((Thread)type.getMethod("unstarted", Runnable.class).invoke(builder, work)).start();
	}

	public static void main(String[] args) throws ReflectiveOperationException {
		boolean asked = args.length == 0;

		while (true) {
			outer();
			if (!asked && new File(args[0]).exists()) {
				asked = true;
				startVirtual();
			}
		}
	}
}
