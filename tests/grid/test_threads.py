"""OpenDSS in threads: the environment may change after it is loaded, as any library does it."""

import os
import subprocess
import sys

_SCRIPT = """
import os, threading
from pathlib import Path
os.environ["ONE_MORE"] = "1"
from engiagent.tools.grid.feeders import opened

def look():
    with opened("ieee13", Path()) as feeder:
        feeder.solve()

look()
for turn in range(20):
    os.environ.update({f"VARIABLE_{turn}_{k}": "x" for k in range(40)})
    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
print("solved", os.environ["VARIABLE_19_39"])
"""


def test_feeders_are_solved_in_threads_after_the_environment_has_changed() -> None:
    # glibc then overwrites what it frees
    environment = {**os.environ, "GLIBC_TUNABLES": "glibc.malloc.perturb=165"}
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "solved x\n"
