// SPDX-License-Identifier: GPL-2.0-or-later
// Moves bytes, whole, short, failed and interrupted, in a method for each; twice: the first time classes are loaded.
// Waits for a byte before the second time and in interrupted(), says what it waits for ("ready", "waits"), and in the
// end, as `moves` does, what it has moved the second time, and waits again. Argument: a file.
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.Pipe;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.TreeMap;

class Moving {
	static final ByteBuffer bytes = ByteBuffer.allocateDirect(1 << 17);
	static final Map<String, long[]> moved = new TreeMap<>();

	// Notes a call that has moved bytes; 0 of a channel that doesn't block: the call has failed.
	static long note(String way, long count) {
		if (count > 0)
			noteCall(way, count);
		return count;
	}

	static synchronized void noteCall(String way, long count) {
		long[] sum = moved.computeIfAbsent(way, key -> new long[2]);

		sum[0]++;
		sum[1] += count;
	}

	// A buffer of so many bytes.
	static ByteBuffer room(int count) {
		bytes.clear().limit(count);
		return bytes;
	}

	static void check(boolean holds) {
		if (!holds)
			throw new AssertionError();
	}

	static void noteEnd(String way, long count) {
		check(count == -1);
		noteCall(way, 0);
	}

	static void files(Path path) throws IOException {
		try (FileChannel file = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.READ,
				StandardOpenOption.WRITE, StandardOpenOption.TRUNCATE_EXISTING)) {
			note("write file", file.write(room(5000)));
			note("write file", file.write(room(300), 10));
			note("write file", file.write(new ByteBuffer[] {ByteBuffer.allocateDirect(20), ByteBuffer.allocateDirect(30)}));
			file.position(0);
			check(note("read file", file.read(room(4000))) == 4000);
			check(note("read file", file.read(room(4000))) == 1050);
			noteEnd("read file", file.read(room(4000)));
			check(note("read file", file.read(room(1000), 4500)) == 550);
			file.position(5000);
			check(note("read file", file.read(new ByteBuffer[] {ByteBuffer.allocateDirect(20), ByteBuffer.allocateDirect(90)})) == 50);
		}
	}

	static void pipes() throws IOException {
		Pipe pipe = Pipe.open();

		pipe.sink().configureBlocking(false);
		pipe.source().configureBlocking(false);
		while (note("write pipe", pipe.sink().write(room(50000))) > 0)
			;
		while (note("read pipe", pipe.source().read(room(40000))) > 0)
			;
		pipe.sink().close();
		noteEnd("read pipe", pipe.source().read(room(100)));
		pipe.source().close();
	}

	static void sockets() throws IOException {
		try (ServerSocketChannel server = ServerSocketChannel.open()) {
			server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
			SocketChannel here = SocketChannel.open(server.getLocalAddress());
			SocketChannel there = server.accept();

			note("write socket", here.write(room(700)));
			note("write socket", here.write(new ByteBuffer[] {ByteBuffer.allocateDirect(20), ByteBuffer.allocateDirect(30)}));
			for (long got = 0; got < 750;)
				got += note("read socket", there.read(room(1000)));
			here.configureBlocking(false);
			there.configureBlocking(false);
			while (note("write socket", here.write(room(100000))) > 0)
				;
			while (note("read socket", there.read(room(100000))) > 0)
				;
			here.close();
			there.configureBlocking(true);
			while (note("read socket", there.read(room(100000))) > 0)
				;
			noteCall("read socket", 0);
			there.close();
		}
	}

	static void copies(Path path) throws IOException {
		Pipe pipe = Pipe.open();

		try (FileChannel file = FileChannel.open(path, StandardOpenOption.READ)) {
			long count = file.transferTo(5, 1500, pipe.sink());
			check(count == 1500);
			note("read file", count);
			note("write pipe", count);
			check(note("read pipe", pipe.source().read(room(4000))) == 1500);
		}
		pipe.sink().close();
		pipe.source().close();
	}

	static void fails(Pipe.SinkChannel sink, ByteBuffer from) {
		try {
			sink.write(from);
			throw new AssertionError();
		} catch (IOException why) {
			// EFAULT, EPIPE
		}
	}

	// Nothing of this counts: a pipe without bytes, memory without its file, a pipe that nobody reads.
	static void failing(Path path) throws IOException {
		Pipe pipe = Pipe.open();
		Path gone = Paths.get(path + ".gone");

		pipe.source().configureBlocking(false);
		for (int i = 0; i < 20; i++)
			check(pipe.source().read(room(10)) == 0);
		try (FileChannel file = FileChannel.open(gone, StandardOpenOption.CREATE, StandardOpenOption.READ,
				StandardOpenOption.WRITE)) {
			ByteBuffer mapped = file.map(FileChannel.MapMode.READ_WRITE, 0, 4096);
			file.truncate(0);
			for (int i = 0; i < 20; i++)
				fails(pipe.sink(), mapped);
		}
		pipe.source().close();
		for (int i = 0; i < 20; i++)
			fails(pipe.sink(), room(10));
		pipe.sink().close();
	}

	static void waits(Pipe pipe) {
		try {
			check(note("read pipe", pipe.source().read(ByteBuffer.allocateDirect(10))) == 3);
		} catch (IOException why) {
			throw new AssertionError(why);
		}
	}

	static void answers(Pipe pipe) throws IOException {
		note("write pipe", pipe.sink().write(room(3)));
	}

	static void say(String what) {
		System.out.println(what);
		System.out.flush();
	}

	// A thread of that name reads from a pipe, until there are bytes, whatever interrupts it.
	static void interrupted(boolean waits) throws Exception {
		Pipe pipe = Pipe.open();
		Thread thread = new Thread(() -> waits(pipe), "interrupted");

		thread.start();
		if (waits) {
			say("waits");
			System.in.read();
		}
		answers(pipe);
		thread.join();
		pipe.sink().close();
		pipe.source().close();
	}

	interface Step {
		void run() throws Exception;
	}

	static String told = "";

	static void tell(String name, Step step) throws Exception {
		StringBuilder line = new StringBuilder();

		moved.clear();
		step.run();
		moved.forEach((way, sum) -> line.append(line.length() > 0 ? ", " : "").append('"').append(way)
				.append("\": [").append(sum[0]).append(", ").append(sum[1]).append("]"));
		told += (told.isEmpty() ? "{" : ", ") + "\"" + name + "\": {" + line + "}";
	}

	static void moves(Path path, boolean waits) throws Exception {
		told = "";
		tell("files", () -> files(path));
		tell("pipes", () -> pipes());
		tell("sockets", () -> sockets());
		tell("copies", () -> copies(path));
		tell("failing", () -> failing(path));
		tell("interrupted", () -> interrupted(waits));
	}

	public static void main(String[] args) throws Exception {
		Path path = Paths.get(args[0]);

		moves(path, false);
		say("ready");
		System.in.read();
		moves(path, true);
		say(told + "}");
		System.in.read();
	}
}
