// SPDX-License-Identifier: GPL-2.0-or-later
package truth;

import java.math.BigInteger;
import java.security.MessageDigest;
import java.util.Random;
import java.util.zip.CRC32;
import java.util.zip.Deflater;

/** Code that the VM made by itself, and native code. */
final class Stubs {
	private Stubs() {
	}

	@Leaf.Below(value = "^java\\.lang\\.System\\.arraycopy$", calls = 20)
	static final class Copy implements Leaf {
		private final byte[] from = new byte[1 << 20], to = new byte[1 << 20];

		@Override
		public void turn(long amount, Worker worker) {
			copy(amount, worker);
		}

		private void copy(long amount, Worker worker) {
			worker.record();
			for (long i = 0; i < amount; i += 1000)
				System.arraycopy(from, (int)(i & 63), to, (int)(i >> 3 & 63), from.length - 64);
		}
	}

	@Leaf.Below(value = Leaf.Below.LIBRARY, calls = 20)
	static final class Checksum implements Leaf {
		private final byte[] bytes = new byte[1 << 18];

		@Override
		public void turn(long amount, Worker worker) {
			CRC32 crc = new CRC32();
			worker.record();
			for (long i = 0; i < amount; i += 1000)
				crc.update(bytes);
			worker.sum += crc.getValue();
		}
	}

	@Leaf.Below(Leaf.Below.LIBRARY)
	static final class Sine implements Leaf {
		@Override
		public void turn(long amount, Worker worker) {
			double x = 1;
			worker.record();
			for (long i = 0; i < amount / 8; i++)
				x += Math.sin(x + i) + Math.pow(x, 0.3);
			worker.sum += (long)x;
		}
	}

	@Leaf.Below(Leaf.Below.LIBRARY)
	static final class Big implements Leaf {
		private final BigInteger a = new BigInteger(8000, new Random(1)),
					 b = new BigInteger(8000, new Random(2));

		@Override
		public void turn(long amount, Worker worker) {
			worker.record();
			for (long i = 0; i < amount; i += 500)
				worker.sum += a.multiply(b).bitLength();
		}
	}

	@Leaf.Below(value = Leaf.Below.LIBRARY, calls = 20)
	static final class Digest implements Leaf {
		private final byte[] bytes = new byte[1 << 16];
		private final MessageDigest digest;

		Digest() throws java.security.NoSuchAlgorithmException {
			digest = MessageDigest.getInstance("SHA-256");
		}

		@Override
		public void turn(long amount, Worker worker) {
			worker.record();
			for (long i = 0; i < amount; i += 10000)
				digest.update(bytes);
			worker.sum += digest.digest()[0];
		}
	}

	/** C, called by JNI. */
	@Leaf.Below(value = Leaf.Below.LIBRARY, calls = 8)
	static final class Deflate implements Leaf {
		private final byte[] bytes = new byte[1 << 14], out = new byte[1 << 15];

		Deflate() {
			new Random(3).nextBytes(bytes);
		}

		@Override
		public void turn(long amount, Worker worker) {
			worker.record();
			for (long i = 0; i < amount; i += 100000) {
				Deflater deflater = new Deflater(6);
				deflater.setInput(bytes);
				deflater.finish();
				worker.sum += deflater.deflate(out);
				deflater.end();
			}
		}
	}

	/** Small and large, most of them thrown away at once. */
	@Leaf.Below(value = Leaf.Below.LIBRARY, calls = 50)
	static final class Allocate implements Leaf {
		private final Object[] kept = new Object[256];

		@Override
		public void turn(long amount, Worker worker) {
			worker.record();
			for (long i = 0; i < amount / 128; i++) {
				kept[(int)(i & 255)] = new byte[(int)(i & 4095)];
				if ((i & 1023) == 0)
					kept[(int)(i >> 10 & 255)] = new long[20000];
			}
		}
	}

	/** Strings and maps: the library's own code, made as it likes. */
	@Leaf.Below(value = "^(java|jdk|sun)\\.|^truth\\.Stubs.Texts\\$\\$", partial = true,
		    calls = 50)
	static final class Texts implements Leaf {
		private final java.util.HashMap<String, Integer> counts = new java.util.HashMap<>();

		@Override
		public void turn(long amount, Worker worker) {
			worker.record();
			for (long i = 0; i < amount / 64; i++)
				counts.merge("key " + i % 1000 + "/" + (i & 7), 1, Integer::sum);
			if (counts.size() > 10000)
				counts.clear();
		}
	}

	/** Our own C: it burns, and it calls back. */
	@Leaf.Below(value = "^truth\\.Native\\.burn$", must = "^truth\\.Native\\.burn$")
	static final class Native implements Leaf {
		@Override
		public void turn(long amount, Worker worker) {
			worker.record();
			worker.sum += truth.Native.burn(amount);
		}
	}

	@Leaf.Below(calls = 20)
	static final class Back implements Leaf {
		@Override
		public void turn(long amount, Worker worker) {
			worker.sum += truth.Native.call(this, amount, worker);
		}

		/** Called from C. */
		private long back(long amount, Worker worker) {
			return Called.burn(amount, worker);
		}
	}
}
