"""Put every fault into the certified runs of the corpus and print where each is caught.

Run it:  python benchmarks/fault_table.py
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.faults import certified, rows, table, without_experts


def main() -> int:
    """Print the table for annotated problems and for copies that nobody annotated."""
    annotated = [row for run in certified() for row in rows(run)]
    with tempfile.TemporaryDirectory() as folder:
        bare = [row for run in certified() for row in rows(without_experts(run, Path(folder)))]
    print(table(annotated), end="\n\n")
    print(table(bare), end="\n\n")
    for title, lines in (("with annotated requirements", annotated), ("without", bare)):
        caught = sum(row.caught for row in lines)
        print(f"{title}: {caught} of {len(lines)} faults caught")
    return 0


if __name__ == "__main__":
    sys.exit(main())
