// SPDX-License-Identifier: GPL-2.0-or-later
package truth;

import java.lang.reflect.InvocationTargetException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Burns CPU time in known stacks of every kind, for ever, in two threads, main and, on JDK 21 and later, a
 * virtual thread: `truth.Leaves PATH [LIBRARY|-] [LEAF ...]`. PATH.json and PATH.clocks tell what it
 * knows (Recorder); LIBRARY is native.c's. LEAF: only those, in one thread. With -Dtruth.waits it begins
 * when there is a file PATH.go.
 */
final class Leaves {
	private static final String[] ALL = { "Interpreted", "OnlyC1", "Compiled", "Compiled$Large",
		"Compiled$Small", "Compiled$Many", "Inlined", "Folded", "FoldedCalls", "Calls$Deep50",
		"Calls$Deep200", "Calls$Deep500", "Calls$Reflective", "Calls$Lambda", "Calls$Reference",
		"Calls$Streamed", "Calls$Handle", "Calls$InHidden", "Calls$Thrown", "Calls$Locked", "Stubs$Copy",
		"Stubs$Checksum", "Stubs$Sine", "Stubs$Big", "Stubs$Digest", "Stubs$Deflate", "Stubs$Allocate",
		"Stubs$Texts", "Stubs$Native", "Stubs$Back", "Storms$Replaced", "Storms$Trapped" };

	private Leaves() {
	}

	private static Leaf[] made(boolean natives, String... names) throws ReflectiveOperationException {
		List<Leaf> leaves = new ArrayList<>();
		for (String name : names) {
			if (!natives && (name.equals("Stubs$Native") || name.equals("Stubs$Back")))
				continue;
			try {
				leaves.add((Leaf)Class.forName("truth." + name).getDeclaredConstructor().newInstance());
			} catch (InvocationTargetException older) {
				if (!(older.getCause() instanceof ClassNotFoundException))
					throw older;
			}
		}
		return leaves.toArray(new Leaf[0]);
	}

	private static void start(Thread thread, String name) {
		thread.setDaemon(true);
		thread.setName(name);
		thread.start();
	}

	/** Thread.ofVirtual().unstarted(work), where there is such a thing. */
	private static boolean startVirtual(Worker work) {
		try {
			Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
			Class<?> type = Class.forName("java.lang.Thread$Builder");
			((Thread)type.getMethod("unstarted", Runnable.class).invoke(builder, work)).start();
			return true;
		} catch (ReflectiveOperationException older) {
			return false;
		}
	}

	private static boolean hasVirtual() {
		try {
			return Thread.class.getMethod("ofVirtual") != null &&
				!System.getProperty("java.version").startsWith("19") &&
				!System.getProperty("java.version").startsWith("20");
		} catch (ReflectiveOperationException older) {
			return false;
		}
	}

	private static void await(Path go) throws InterruptedException {
		while (System.getProperty("truth.waits") != null && !Files.exists(go))
			Thread.sleep(20);
	}

	public static void main(String[] args) throws Exception {
		Path path = Paths.get(args[0]);
		boolean natives = args.length > 1 && !args[1].equals("-");
		if (natives)
			System.load(args[1]);
		Levels.hold(path);
		await(path.resolveSibling(path.getFileName() + ".go"));
		Recorder recorder = new Recorder(path);
		if (args.length > 2) {
			String[] chosen = Arrays.copyOfRange(args, 2, args.length);
			start(new Thread(new Worker("leaf-0", recorder, made(natives, chosen))), "leaf-0");
			recorder.write();
		}
		for (String name : new String[] { "leaf-0", "leaf-1" })
			start(new Thread(new Worker(name, recorder, made(natives, ALL))), name);
		if (hasVirtual())
			startVirtual(new Worker("virtual", recorder,
				made(natives, "Interpreted", "OnlyC1", "Compiled", "Inlined", "Calls$Deep50",
				     "Stubs$Copy")));
		Worker own = new Worker("main", recorder,
					made(natives, "Interpreted", "Compiled", "Calls$Deep50", "Storms$Trapped"));
		Thread writer = new Thread(() -> {
			try {
				recorder.write();
			} catch (Exception wrong) {
				wrong.printStackTrace();
				System.exit(1);
			}
		});
		start(writer, "writer");
		own.run();
	}
}
