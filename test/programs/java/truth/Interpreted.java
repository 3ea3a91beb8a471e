// SPDX-License-Identifier: GPL-2.0-or-later
package truth;

/** Never compiled. */
@Leaf.Below(calls = 8)
final class Interpreted implements Leaf {
	@Override
	public void turn(long amount, Worker worker) {
		worker.sum += first(amount, worker, 7);
	}

	private static long first(long amount, Worker worker, int many) {
		double d = many; // some locals and some words on the expression stack
		return many + (long)d + second(amount, worker, d, new int[] { 1, 2, 3 });
	}

	private static long second(long amount, Worker worker, double d, int... numbers) {
		long x = 1;
		worker.record();
		for (long i = 0; i < amount; i++)
			x = x * 6364136223846793005L + i + numbers[(int)(i & 1)];
		return x + (long)d;
	}
}
