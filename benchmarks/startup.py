"""How long engiagent takes to start: whole processes, from the start of Python to its end.

python benchmarks/startup.py --repeat 10
"""

import argparse
import json
import subprocess
import sys
from statistics import median
from time import perf_counter

BARE = "bare Python"
COMMANDS = {
    BARE: ["-c", "pass"],
    "import engiagent": ["-c", "import engiagent"],
    "import engiagent.blueprint": ["-c", "import engiagent.blueprint"],
    "engiagent --help": ["-c", "import engiagent.cli; engiagent.cli.main()", "--help"],
    "engiagent run --help": ["-c", "import engiagent.cli; engiagent.cli.main()", "run", "--help"],
}


def main() -> None:
    """Time every command and print the medians."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repeat", type=int, default=10, help="repetitions of each command")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    options = parser.parse_args()
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(options.repeat):
        for name, command in COMMANDS.items():
            times[name].append(_seconds(command))
    medians = {name: median(values) for name, values in times.items()}
    bare = medians[BARE]
    if options.json:
        rows = [
            {"command": name, "seconds": value, "of_bare": value / bare}
            for name, value in medians.items()
        ]
        print(json.dumps({"rows": rows}))
        return
    for name, value in medians.items():
        print(f"{name:28} {1000 * value:7.0f} ms  {value / bare:5.1f} times bare Python")


def _seconds(arguments: list[str]) -> float:
    started = perf_counter()
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
    seconds = perf_counter() - started
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(arguments)} failed:\n{done.stderr}")
    return seconds


if __name__ == "__main__":
    main()
