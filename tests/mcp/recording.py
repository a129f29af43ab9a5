"""A recorded session of a client that only sees tools; run as a script it is recorded anew."""

import json
import math
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import anyio
from mcp import Client

ROOT: Final = Path(__file__).parents[2]
RECORD: Final = Path(__file__).with_name("session.json")
PROBLEM: Final = "battery/brewery_demand_charge"

SCRIPT: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("list_problems", {}),
    ("solve", {}),
    ("load_problem", {"path": "brewery"}),
    ("audit", {}),
    ("analyse", {}),
    ("compile", {}),
    ("solve", {"time_limit": 30}),
    ("check", {}),
    ("explain", {}),
    ("read_schedule", {"names": ["battery.charge"]}),
    ("report", {"folder": "runs/first"}),
    ("list_runs", {}),
    ("set_parameter", {"name": "battery.energy_capacity", "value": 45, "unit": "kWh"}),
    ("check", {}),
    ("load_problem", {"path": "../outside"}),
)
"""Tools and arguments; what comes back is in the record."""

_CHANGES: Final = ("sha256", "blueprint")
"""Hashes, which change with the version."""


def workspace(folder: Path) -> Path:
    """Return a folder with one problem and its reading in it, and no answer."""
    without = shutil.ignore_patterns("requirements.yaml", "answer.json")
    shutil.copytree(ROOT / "problems" / PROBLEM, folder / "brewery", ignore=without)
    return folder


async def played(client: Client) -> list[dict[str, Any]]:
    """Make the calls of the script and return the exchange."""
    found = []
    for tool, arguments in SCRIPT:
        answer = await client.call_tool(tool, arguments)
        found.append(
            {
                "tool": tool,
                "arguments": arguments,
                "error": answer.is_error,
                "answer": without_choices(answer.structured_content),
            }
        )
    return found


def without_choices(value: Any) -> Any:
    """Return an answer without what depends on the version of ours or of the solver.

    Of a series its sum is kept: in which of the hours of one price the battery charges is the
    solver's choice.
    """
    if isinstance(value, dict):
        kept = {key: without_choices(v) for key, v in value.items() if key not in _CHANGES}
        return {**kept, "values": sum(kept["values"])} if "values" in kept else kept
    return [without_choices(v) for v in value] if isinstance(value, list) else value


def differences(one: Any, two: Any, place: str = "$") -> Iterator[str]:
    """Yield where two exchanges differ by more than rounding."""
    if isinstance(one, dict) and isinstance(two, dict):
        for key in sorted({*one, *two}):
            yield from differences(one.get(key), two.get(key), f"{place}.{key}")
    elif isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        for number, pair in enumerate(zip(one, two, strict=True)):
            yield from differences(*pair, f"{place}[{number}]")
    elif isinstance(one, float) and isinstance(two, float):
        if not math.isclose(one, two, rel_tol=1e-6, abs_tol=1e-6):
            yield f"{place}: {one} and {two}"
    elif one != two:
        yield f"{place}: {one!r} and {two!r}"


async def main() -> None:
    """Record the session."""
    from engiagent.tools.mcp import make_server

    with tempfile.TemporaryDirectory() as folder:
        async with Client(make_server(workspace(Path(folder)))) as client:
            found = await played(client)
    RECORD.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(anyio.run(main))
