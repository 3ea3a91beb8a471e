// SPDX-License-Identifier: GPL-2.0-or-later
package truth;

import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Array;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Ways to call. */
final class Calls {
	private Calls() {
	}

	static long burn(long amount, Worker worker) {
		return Called.burn(amount, worker);
	}

	/** The way down is short, so nearly all samples are at the bottom. */
	static long down(int left, long amount, Worker worker) {
		return left == 0 ? burn(amount, worker) : down(left - 1, amount, worker) + left;
	}

	@Leaf.Below(calls = 4)
	static final class Deep50 implements Leaf {
		@Override
		public void turn(long amount, Worker worker) {
			worker.sum += down(50, amount, worker);
		}
	}

	@Leaf.Below(calls = 4)
	static final class Deep200 implements Leaf {
		@Override
		public void turn(long amount, Worker worker) {
			worker.sum += down(200, amount, worker);
		}
	}

	@Leaf.Below(calls = 4)
	static final class Deep500 implements Leaf {
		@Override
		public void turn(long amount, Worker worker) {
			worker.sum += down(500, amount, worker);
		}
	}

	@Leaf.Below(value = Leaf.Below.LIBRARY, partial = true, calls = 20)
	static final class Reflective implements Leaf {
		private final Method method;

		Reflective() throws ReflectiveOperationException {
			method = Calls.class.getDeclaredMethod("burn", long.class, Worker.class);
		}

		@Override
		public void turn(long amount, Worker worker) throws Throwable {
			worker.sum += (Long)method.invoke(null, amount, worker);
		}
	}

	@Leaf.Below(calls = 20)
	static final class Lambda implements Leaf {
		@Override
		public void turn(long amount, Worker worker) {
			long more = amount & 1;
			Runnable work = () -> worker.sum += burn(amount, worker) + more;
			work.run();
		}
	}

	static final class Reference implements Leaf {
		interface Burner {
			long apply(long amount, Worker worker);
		}

		private final Burner burner = Calls::burn;

		@Override
		public void turn(long amount, Worker worker) {
			worker.sum += burner.apply(amount, worker);
		}
	}

	/** Lambdas in the class library's own loops. */
	@Leaf.Below(value = Leaf.Below.LIBRARY + "|^truth\\.Calls", partial = true, calls = 20)
	static final class Streamed implements Leaf {
		private final List<Long> parts = new ArrayList<>(Collections.nCopies(4, 1L));

		@Override
		public void turn(long amount, Worker worker) {
			worker.sum += parts.stream().filter(p -> p > 0).mapToLong(p -> burn(amount / 4, worker)).sum();
		}
	}

	@Leaf.Below(calls = 50)
	static final class Handle implements Leaf {
		private final MethodHandle handle, bound; // not constant, so it is called by its form

		Handle() throws ReflectiveOperationException {
			MethodType type = MethodType.methodType(long.class, long.class, Worker.class);
			handle = MethodHandles.lookup().findStatic(Calls.class, "burn", type);
			bound = MethodHandles.insertArguments(MethodHandles.dropArguments(handle, 1, String.class), 1,
							      "x");
		}

		@Override
		public void turn(long amount, Worker worker) throws Throwable {
			if ((amount & 1) == 0)
				worker.sum += (long)handle.invokeExact(amount, worker);
			else
				worker.sum += (long)bound.invokeExact(amount, worker);
		}
	}

	/** JDK 15 and later; its name has an address. */
	static final class InHidden implements Leaf {
		private final Leaf inside;

		InHidden() throws ReflectiveOperationException {
			Class<?> option = Class.forName("java.lang.invoke.MethodHandles$Lookup$ClassOption");
			Method define = MethodHandles.Lookup.class.getMethod("defineHiddenClass", byte[].class,
				boolean.class, Array.newInstance(option, 0).getClass());
			Object lookup = define.invoke(MethodHandles.lookup(), bytesOf("truth.Hidden"), true,
						      Array.newInstance(option, 0));
			Class<?> made = ((MethodHandles.Lookup)lookup).lookupClass();
			inside = (Leaf)made.getDeclaredConstructor().newInstance();
		}

		@Override
		public void turn(long amount, Worker worker) throws Throwable {
			inside.turn(amount, worker);
		}
	}

	/** Throws from 30 frames deep, and catches. */
	@Leaf.Below(value = Leaf.Below.LIBRARY, partial = true)
	static final class Thrown implements Leaf {
		@Override
		public void turn(long amount, Worker worker) {
			for (long i = 0; i <= amount / 256; i++) {
				try {
					down(30, i, worker);
				} catch (IllegalStateException caught) {
					worker.sum += caught.getMessage().length();
				}
			}
		}

		private static long down(int left, long i, Worker worker) {
			if (left > 0)
				return down(left - 1, i, worker) + 1;
			if (i == 0)
				worker.record();
			throw new IllegalStateException("deep");
		}
	}

	/** Locks that nobody else wants, by method and by block. */
	@Leaf.Below(partial = true)
	static final class Locked implements Leaf {
		private long count;

		@Override
		public void turn(long amount, Worker worker) {
			for (long i = -1; i < amount / 16; i++)
				add(i, worker);
			worker.sum += count;
		}

		private synchronized void add(long i, Worker worker) {
			count += more(i, worker);
		}

		private long more(long i, Worker worker) {
			synchronized (worker) {
				if (i < 0)
					worker.record();
				return i ^ count;
			}
		}
	}

	static byte[] bytesOf(String name) {
		try (InputStream in = Calls.class.getResourceAsStream("/" + name.replace('.', '/') + ".class")) {
			ByteArrayOutputStream bytes = new ByteArrayOutputStream();
			byte[] part = new byte[4096];
			for (int n = in.read(part); n > 0; n = in.read(part))
				bytes.write(part, 0, n);
			return bytes.toByteArray();
		} catch (java.io.IOException wrong) {
			throw new AssertionError(wrong);
		}
	}
}
