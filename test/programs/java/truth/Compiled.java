// SPDX-License-Identifier: GPL-2.0-or-later
package truth;

/** Compiled as the VM likes, in the end by C2; nothing inlined. */
final class Compiled implements Leaf {
	@Override
	public void turn(long amount, Worker worker) {
		worker.sum += outer(amount, worker);
	}

	private static long outer(long amount, Worker worker) {
		return 1 + burn(amount, worker);
	}

	private static long burn(long amount, Worker worker) {
		long x = 1;
		worker.record();
		for (long i = 0; i < amount; i++)
			x = x * 6364136223846793005L + i;
		return x;
	}

	/** Many values at once, so the frame is large. */
	static final class Large implements Leaf {
		@Override
		public void turn(long amount, Worker worker) {
			worker.sum += burn(amount, worker);
		}

		private static long burn(long amount, Worker worker) {
			long a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, k = 9, l = 10, m = 11, n = 12,
			     o = 13, p = 14, q = 15, r = 16, s = 17, t = 18, u = 19, v = 20;
			worker.record();
			for (long i = 0; i < amount; i += 20) {
				a += v ^ i; b += a ^ i; c += b * 3; d += c ^ a; e += d * 5; f += e ^ b; g += f ^ i;
				h += g * 7; k += h ^ c; l += k ^ d; m += l * 9; n += m ^ e; o += n ^ f; p += o * 11;
				q += p ^ g; r += q ^ h; s += r * 13; t += s ^ k; u += t ^ l; v += u * 17;
			}
			return a + b + c + d + e + f + g + h + k + l + m + n + o + p + q + r + s + t + u + v;
		}
	}

	/** Calls of a method that is a few instructions: mostly prologue, epilogue, call and return. */
	@Leaf.Below(partial = true)
	static final class Small implements Leaf {
		private long state;

		@Override
		public void turn(long amount, Worker worker) {
			for (long i = -1; i < amount / 8; i++)
				state += small(i, worker) + framed(i, worker);
			worker.sum += state;
		}

		private static long small(long x, Worker worker) {
			if (x < 0)
				worker.record();
			return x ^ 5;
		}

		private long framed(long x, Worker worker) {
			return small(x, worker) + state;
		}
	}

	/** An interface's method with many implementations: through the stub that looks it up. */
	@Leaf.Below(partial = true)
	static final class Many implements Leaf {
		interface Step {
			long step(long x, Worker worker);
		}

		private final Step[] steps = new Step[8];

		Many() {
			steps[0] = steps[4] = new A();
			steps[1] = steps[5] = new B();
			steps[2] = steps[6] = new C();
			steps[3] = steps[7] = new D();
		}

		@Override
		public void turn(long amount, Worker worker) {
			for (long i = -steps.length; i < amount / 8; i++) // negative: they tell their stack
				worker.sum += steps[(int)(i & 7 ^ i >> 3 & 3)].step(i, worker);
		}

		private static final class A implements Step {
			@Override
			public long step(long x, Worker worker) {
				if (x < 0)
					worker.record();
				return x + 1;
			}
		}

		private static final class B implements Step {
			@Override
			public long step(long x, Worker worker) {
				if (x < 0)
					worker.record();
				return x * 3;
			}
		}

		private static final class C implements Step {
			@Override
			public long step(long x, Worker worker) {
				if (x < 0)
					worker.record();
				return x ^ 5;
			}
		}

		private static final class D implements Step {
			@Override
			public long step(long x, Worker worker) {
				if (x < 0)
					worker.record();
				return x - 7;
			}
		}
	}
}
