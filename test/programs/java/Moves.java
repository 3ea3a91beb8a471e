// SPDX-License-Identifier: GPL-2.0-or-later
// Writes 100 times 3000 bytes to the file that the first argument names, and reads them again.
// Waits for a line before, tells its answer, and waits for another one.
import java.io.FileInputStream;
import java.io.FileOutputStream;

class Moves {
	static void writes(String path) throws Exception {
		try (FileOutputStream out = new FileOutputStream(path)) {
			for (int i = 0; i < 100; i++)
				out.write(new byte[3000]);
		}
	}

	static void reads(String path) throws Exception {
		byte[] bytes = new byte[4000];

		try (FileInputStream in = new FileInputStream(path)) {
			while (in.read(bytes) > 0)
				;
		}
	}

	public static void main(String[] args) throws Exception {
		System.out.println("ready");
		System.in.read();
		writes(args[0]);
		reads(args[0]);
		System.out.println("moved");
		System.in.read();
	}
}
