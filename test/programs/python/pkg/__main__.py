import truth

from pkg.inner import run

truth.loop(run.turn)
