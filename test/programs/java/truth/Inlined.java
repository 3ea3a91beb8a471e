// SPDX-License-Identifier: GPL-2.0-or-later
package truth;

/** All of it is one piece of code. */
final class Inlined implements Leaf {
	@Override
	public void turn(long amount, Worker worker) {
		worker.sum += outer(amount, worker);
	}

	private static long outer(long amount, Worker worker) {
		return 1 + middle(amount, worker);
	}

	private static long middle(long amount, Worker worker) {
		return 2 * inner(amount, worker);
	}

	private static long inner(long amount, Worker worker) {
		long x = 1;
		worker.record();
		for (long i = 0; i < amount; i++)
			x = x * 6364136223846793005L + i;
		return x;
	}
}

/** 13 inlined callers: the VM inlines up to 15 (since 14; 9 before). */
final class Folded implements Leaf {
	@Override
	public void turn(long amount, Worker worker) {
		worker.sum += l13(amount, worker);
	}

	private static long l13(long n, Worker w) { return l12(n, w) + 13; }
	private static long l12(long n, Worker w) { return l11(n, w) + 12; }
	private static long l11(long n, Worker w) { return l10(n, w) + 11; }
	private static long l10(long n, Worker w) { return l9(n, w) + 10; }
	private static long l9(long n, Worker w) { return l8(n, w) + 9; }
	private static long l8(long n, Worker w) { return l7(n, w) + 8; }
	private static long l7(long n, Worker w) { return l6(n, w) + 7; }
	private static long l6(long n, Worker w) { return l5(n, w) + 6; }
	private static long l5(long n, Worker w) { return l4(n, w) + 5; }
	private static long l4(long n, Worker w) { return l3(n, w) + 4; }
	private static long l3(long n, Worker w) { return l2(n, w) + 3; }
	private static long l2(long n, Worker w) { return l1(n, w) + 2; }

	private static long l1(long n, Worker w) {
		long x = 1;
		w.record();
		for (long i = 0; i < n; i++)
			x = x * 6364136223846793005L + i;
		return x;
	}
}

/** The caller's inlined frames stand above a call: there is debug information. */
final class FoldedCalls implements Leaf {
	@Override
	public void turn(long amount, Worker worker) {
		worker.sum += outer(amount, worker);
	}

	private static long outer(long amount, Worker worker) {
		return 1 + middle(amount, worker);
	}

	private static long middle(long amount, Worker worker) {
		return 2 * Called.burn(amount, worker);
	}
}
