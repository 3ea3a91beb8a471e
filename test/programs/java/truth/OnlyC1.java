// SPDX-License-Identifier: GPL-2.0-or-later
package truth;

/** Compiled by C1 only. */
final class OnlyC1 implements Leaf {
	@Override
	public void turn(long amount, Worker worker) {
		worker.sum += outer(amount, worker);
	}

	private static long outer(long amount, Worker worker) {
		return 1 + burn(amount, worker, amount + 1, amount + 2, 3.0f, 4.0, 5, 6, 7, 8);
	}

	/** More arguments than there are registers for. */
	private static long burn(long amount, Worker worker, long a, long b, float c, double d, int e, long f,
				 long g, long h) {
		long x = a + b + (long)c + (long)d + e + f + g + h;
		worker.record();
		for (long i = 0; i < amount; i++)
			x = x * 6364136223846793005L + i;
		return x;
	}
}
