"""What several tools share: paths below the session's folder, and schemas of answers."""

from pathlib import Path
from typing import Final

from engiagent.errors import InputError
from engiagent.io.files import inside_parts
from engiagent.io.schemawords import NUMBER, TEXT, TEXTS, by_name, maybe, record


def inside(root: Path, relative: str) -> Path:
    """Return a path below a folder."""
    path = below(root, relative)
    if not path.exists():
        raise InputError("there is no such file or folder", relative)
    return path


def below(root: Path, relative: str) -> Path:
    """Return a path below a folder at which something may be made."""
    path = root.joinpath(*inside_parts(relative))
    if not path.resolve().is_relative_to(root.resolve()):
        raise InputError("the path leads out of the session's folder", found=repr(relative))
    return path


OBJECTIVE: Final = maybe(
    record({}, {"value": maybe(NUMBER), "unit": maybe(TEXT), "sense": maybe(TEXT)}, more=True)
)
ELEMENTS: Final = record(
    {
        "kind": {"enum": ["programme", "definitions"]},
        "sets": TEXTS,
        "parameters": TEXTS,
        "decision_variables": TEXTS,
        "components": by_name(TEXT),
        "constraints": TEXTS,
    }
)
CHANGED: Final = record({"blueprint": TEXT, "elements": ELEMENTS})
