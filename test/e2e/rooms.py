"""Importing this module makes each folder beside it importable: tests and benches name a helper by its
module's name alone, wherever it lies."""
import sys
from pathlib import Path

sys.path += [str(folder) for folder in sorted(Path(__file__).parent.iterdir()) if folder.is_dir()]
