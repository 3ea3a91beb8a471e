// SPDX-License-Identifier: GPL-2.0-or-later
package truth;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Method;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Writes PATH.json, the stacks that there can be, and PATH.clocks: ns of CPU time by worker and leaf, and
 * then in the same order how much was done. */
final class Recorder {
	static final int LEAVES = 64; // of a worker, in PATH.clocks
	private static final int WORKERS = 8;

	private final Path path;
	private final MappedByteBuffer page;
	private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
	private final List<Worker> workers = new ArrayList<>();
	private final List<List<String>> names = new ArrayList<>();
	private final Map<String, Set<String>> stacks = new LinkedHashMap<>();
	private final Map<String, Leaf.Below> below = new LinkedHashMap<>();
	private final Walker walker = Walker.best();
	private final AtomicInteger known = new AtomicInteger();
	private int written = -1;

	Recorder(Path path) throws IOException {
		this.path = path;
		String clocks = path + ".clocks";
		try (RandomAccessFile file = new RandomAccessFile(clocks, "rw")) {
			page = file.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, 16L * LEAVES * WORKERS);
		}
		page.order(ByteOrder.nativeOrder());
	}

	synchronized void add(Worker worker, Leaf[] leaves) {
		List<String> own = new ArrayList<>();
		workers.add(worker);
		for (Leaf leaf : leaves) {
			own.add(name(leaf));
			stacks.putIfAbsent(name(leaf), ConcurrentHashMap.newKeySet());
			below.put(name(leaf), leaf.getClass().getAnnotation(Leaf.Below.class));
		}
		names.add(own);
	}

	private static String name(Leaf leaf) {
		return leaf.getClass().getName();
	}

	/** Of this thread; 0 where it has no clock of its own (a virtual one). */
	long cpu() {
		try {
			return threads.getCurrentThreadCpuTime();
		} catch (UnsupportedOperationException virtual) {
			return 0;
		}
	}

	void spent(Worker worker, int leaf, long ns, long amount) {
		int at = 8 * (workers.indexOf(worker) * LEAVES + leaf), done = at + 8 * LEAVES * WORKERS;
		page.putLong(at, page.getLong(at) + ns);
		page.putLong(done, page.getLong(done) + amount);
	}

	/** Below the caller's caller, which is Worker.record(). */
	void record(Leaf leaf) {
		List<String> frames = walker.frames();
		int own = 0;
		while (!frames.get(own).startsWith("\"truth.Worker.record "))
			own++;
		frames = new ArrayList<>(frames.subList(own + 1, frames.size()));
		Collections.reverse(frames);
		// (No lock: who waits for one on a virtual thread comes back without his older frames.)
		String stack = "[" + String.join(", ", frames) + "]";
		Set<String> told = stacks.get(name(leaf));
		if (!told.contains(stack) && told.add(stack))
			known.incrementAndGet();
	}

	/** Whenever there is more to tell, once all are warm; for ever. */
	void write() throws IOException, InterruptedException {
		for (;;) {
			Thread.sleep(100);
			synchronized (this) {
				int now = known.get();
				if (now == written || !workers.stream().allMatch(worker -> worker.warm))
					continue;
				written = now;
				Path made = path.resolveSibling(path.getFileName() + ".new");
				Files.write(made, text().getBytes("UTF-8"));
				Files.move(made, path.resolveSibling(path.getFileName() + ".json"),
					   StandardCopyOption.ATOMIC_MOVE);
			}
		}
	}

	private String text() {
		String leaves = stacks.keySet().stream().map(this::leafText).collect(Collectors.joining(",\n"));
		String all = names.stream().map(Recorder::quotedAll).collect(Collectors.joining(", "));
		List<String> threadNames = workers.stream().map(w -> w.name).collect(Collectors.toList());
		return "{\"hidden\": " + walker.hidden() + ", \"width\": " + LEAVES + ", \"threads\": " +
			quotedAll(threadNames) + ",\n\"clocks\": [" + all + "],\n\"leaves\": {" + leaves + "}}\n";
	}

	private String leafText(String name) {
		Leaf.Below may = below.get(name);
		return quoted(name) + ": {\"below\": " + quoted(may == null ? "" : may.value()) +
			", \"must\": " + quoted(may == null ? "" : may.must()) +
			", \"partial\": " + (may != null && may.partial()) +
			", \"stacks\": [" + String.join(",\n", stacks.get(name)) + "]}";
	}

	private static String quotedAll(List<String> texts) {
		return "[" + texts.stream().map(Recorder::quoted).collect(Collectors.joining(", ")) + "]";
	}

	private static String quoted(String text) {
		return "\"" + text.replace("\\", "\\\\") + "\"";
	}

	/** Leaf first: `"class.method line"`. */
	private interface Walker {
		List<String> frames();

		/** Whether it tells hidden frames (of lambdas and method handles) as well. */
		boolean hidden();

		static Walker best() {
			try {
				return new WithHidden();
			} catch (ReflectiveOperationException jdk8) {
				return new Thrown();
			}
		}
	}

	private static final class Thrown implements Walker {
		@Override
		public List<String> frames() {
			return Stream.of(new Throwable().getStackTrace())
				.map(f -> quoted(f.getClassName() + "." + f.getMethodName() + " " + f.getLineNumber()))
				.collect(Collectors.toList());
		}

		@Override
		public boolean hidden() {
			return false;
		}
	}

	/** StackWalker, of JDK 9 and later: this is compiled for 8. */
	private static final class WithHidden implements Walker {
		private final Object walker;
		private final Method walk, className, methodName, line;

		WithHidden() throws ReflectiveOperationException {
			Class<?> type = Class.forName("java.lang.StackWalker");
			Class<?> frame = Class.forName("java.lang.StackWalker$StackFrame");
			Object hidden = Stream.of(Class.forName("java.lang.StackWalker$Option").getEnumConstants())
				.filter(o -> o.toString().equals("SHOW_HIDDEN_FRAMES")).findAny().get();
			walker = type.getMethod("getInstance", Set.class).invoke(null, Collections.singleton(hidden));
			walk = type.getMethod("walk", Function.class);
			className = frame.getMethod("getClassName");
			methodName = frame.getMethod("getMethodName");
			line = frame.getMethod("getLineNumber");
		}

		private String text(Object frame) {
			try {
				return quoted(className.invoke(frame) + "." + methodName.invoke(frame) + " " +
					      line.invoke(frame));
			} catch (ReflectiveOperationException wrong) {
				throw new AssertionError(wrong);
			}
		}

		@Override
		@SuppressWarnings("unchecked")
		public List<String> frames() {
			Function<Stream<Object>, List<String>> told = frames ->
				frames.map(this::text).collect(Collectors.toList());
			try {
				return (List<String>)walk.invoke(walker, told);
			} catch (ReflectiveOperationException wrong) {
				throw new AssertionError(wrong);
			}
		}

		@Override
		public boolean hidden() {
			return true;
		}
	}
}
