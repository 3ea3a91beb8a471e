// SPDX-License-Identifier: GPL-2.0-or-later
package stackprobe.jfr1;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SeekableByteChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.LinkOption;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;

/** The files in the data folder: made new, for their owner alone, whole when they have their name. */
final class Files {
	static final String WINDOW = "window.jfr";
	private static final String STATE = "jfr-state.txt";
	private static final Set<OpenOption> NEW = new HashSet<>(Arrays.asList(
		StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW, LinkOption.NOFOLLOW_LINKS));

	private Files() {
	}

	static String stacksName(String probe) {
		return "stacks-" + probe + ".txt";
	}

	static void write(Path folder, String name, CharSequence text) throws IOException {
		Path made = folder.resolve(name + ".new");
		FileAttribute<?> mode =
			PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));

		java.nio.file.Files.deleteIfExists(made); // left from before
		try (SeekableByteChannel channel = java.nio.file.Files.newByteChannel(made, NEW, mode)) {
			ByteBuffer bytes = ByteBuffer.wrap(text.toString().getBytes(StandardCharsets.UTF_8));
			while (bytes.hasRemaining())
				channel.write(bytes);
		}
		java.nio.file.Files.move(made, folder.resolve(name), StandardCopyOption.ATOMIC_MOVE);
	}

	static void tellState(Path folder, String state, String sequence, String text) {
		try {
			write(folder, STATE, "stackprobe-jfr\t1\t" + state + "\t" + sequence + "\t" + text + "\n");
		} catch (IOException | RuntimeException gone) {
			// Nobody reads there any more.
		}
	}

	static void remove(Path path) {
		try {
			java.nio.file.Files.deleteIfExists(path);
		} catch (IOException | RuntimeException kept) {
			// It isn't ours, or not empty.
		}
	}

	static void removeAll(Path folder) {
		for (String probe : Session.PROBES) {
			remove(folder.resolve(stacksName(probe)));
			remove(folder.resolve(stacksName(probe) + ".new"));
		}
		remove(folder.resolve(WINDOW));
		remove(folder.resolve(STATE + ".new"));
		remove(folder.resolve(STATE));
		remove(folder); // only if it is empty
	}

	/** One field of a line: what separates fields becomes a blank. */
	static String plain(String text) {
		if (text == null)
			return "";
		for (int i = 0; i < text.length(); i++) {
			if (text.charAt(i) < ' ' || text.charAt(i) == 127)
				return text.replaceAll("[\\x00-\\x1f\\x7f]", " ");
		}
		return text;
	}
}
