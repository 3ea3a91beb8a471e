// SPDX-License-Identifier: GPL-2.0-or-later
package truth;

/** Code that is compiled, thrown away and compiled again, at addresses that others had before. Each turn
 * defines its class anew. */
abstract class Storms implements Leaf {
	/** What a fresh class does. */
	public interface Body {
		long work(long amount, Worker worker);
	}

	private static final java.util.Map<String, byte[]> READ = new java.util.concurrent.ConcurrentHashMap<>();

	private static final class Loader extends ClassLoader {
		Loader() {
			super(Storms.class.getClassLoader());
		}

		Class<?> define(String name) {
			byte[] bytes = READ.computeIfAbsent(name, Calls::bytesOf);
			return defineClass(name, bytes, 0, bytes.length);
		}
	}

	static Body fresh(String name) throws ReflectiveOperationException {
		return (Body)new Loader().define(name).getDeclaredConstructor().newInstance();
	}

	/** A long loop in a method that is called once: replaced while it runs. */
	@Leaf.Below(value = Leaf.Below.LIBRARY + "|^truth\\.(Storms|Calls)|<init>$", partial = true,
		    calls = 1)
	static final class Replaced extends Storms {
		@Override
		public void turn(long amount, Worker worker) throws Throwable {
			worker.sum += fresh("truth.FreshLoop").work(amount, worker);
		}
	}

	/** What the compiler took for granted is true no more, again and again. */
	@Leaf.Below(value = Leaf.Below.LIBRARY + "|^truth\\.(Storms|Calls)|<init>$", partial = true,
		    calls = 1)
	static final class Trapped extends Storms {
		@Override
		public void turn(long amount, Worker worker) throws Throwable {
			worker.sum += fresh("truth.FreshTraps").work(amount, worker);
		}
	}
}
