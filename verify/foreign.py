"""How an external schedule is to be read: which column is what, in which unit, sign and clock."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Literal
from zoneinfo import ZoneInfo

from engiagent.errors import InputError
from engiagent.io.files import open_inside
from engiagent.io.plainyaml import loads_yaml
from engiagent.units.unit import UnitError, parse_unit

Labels = Literal["start", "end"]

SCHEMA: Final = "engiagent-mapping/1"
MAX_MAPPING_BYTES: Final = 1_000_000
_KINDS: Final[Mapping[str, tuple[type, str]]] = {
    **dict.fromkeys(("mapping", "units", "index"), (dict, "a list of texts by name")),
    **dict.fromkeys(("labels", "zone", "time_format", "decimal"), (str, "a text")),
    "hold": (bool, "true or false"),
    "skip": (int, "a number of lines"),
}
"""What each key of a map holds, and how it is called in messages."""


@dataclass(frozen=True)
class Reading:
    """How an external schedule is to be read.

    Attributes
    ----------
    mapping
        Quantity or variable to column. ``battery.net_charge`` takes a signed column apart and says
        what its positive values are; a minus before the column turns its sign.
    units
        Units by column or by quantity, for columns that name none.
    index
        Set to column, for a table with a row for each element: ``{"G": "generator"}``. A column
        that is called as a set of labels needs no entry.
    labels
        Whether a time stamp names the start of its period or the end.
    hold
        Whether a power that is given for longer periods holds in each of the shorter ones.
    zone
        The zone of stamps that have no offset; by default that of the problem.
    time_format
        How stamps are written that are not ISO 8601, as ``%d.%m.%Y %H:%M``; ``epoch s`` or
        ``epoch ms`` for seconds or milliseconds since 1970.
    decimal
        ``.`` or ``,`` where a file does not show which it uses.
    skip
        How many lines stand above the header of a text file.
    """

    mapping: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    index: Mapping[str, str] = field(default_factory=dict)
    labels: Labels = "start"
    hold: bool = False
    zone: str | None = None
    time_format: str | None = None
    decimal: str | None = None
    skip: int = 0

    def __post_init__(self) -> None:
        for name, allowed in (("labels", ("start", "end")), ("decimal", (None, ".", ","))):
            value = getattr(self, name)
            if value not in allowed:
                options = ", ".join(str(item) for item in allowed if item is not None)
                raise InputError(f"no such choice of {name!r}", found=repr(value), expected=options)
        if not 0 <= self.skip <= 1000:
            raise InputError("skip is not a number of lines", found=str(self.skip))
        try:
            if self.zone is not None:
                ZoneInfo(self.zone)
        except (KeyError, ValueError, OSError):
            found = repr(str(self.zone)[:60])
            raise InputError(
                "unknown time zone", found=found, expected="as Europe/Berlin"
            ) from None
        for column, unit in self.units.items():
            try:
                parse_unit(unit)
            except UnitError as error:
                raise InputError(f"the unit of {column}: {error}") from None

    @classmethod
    def of(cls, given: "Reading | Mapping[str, str] | None") -> "Reading":
        """Return the reading that a plain mapping of quantities to columns stands for."""
        return given if isinstance(given, Reading) else cls(dict(given or {}))

    def to_dict(self) -> dict[str, Any]:
        """Return what differs from the default, as JSON."""
        default, own = asdict(Reading()), asdict(self)
        return {name: value for name, value in own.items() if value != default[name]}

    @classmethod
    def from_dict(cls, content: Any, file: str | None = None) -> "Reading":
        """Return the reading of a mapping file or of a record of a stored check.

        Raises
        ------
        InputError
            For anything but known keys with values of their kind.
        """
        if not isinstance(content, Mapping):
            raise InputError("no mapping of a schedule", file, found=type(content).__name__)
        for name, value in content.items():
            if name not in _KINDS:
                expected = ", ".join(_KINDS)
                raise InputError("unknown key in a mapping", file, None, None, repr(name), expected)
            kind, words = _KINDS[name]
            texts = [t for pair in value.items() for t in pair] if isinstance(value, dict) else []
            if type(value) is not kind or not all(isinstance(text, str) for text in texts):
                what = f"{name} is not {words}"
                raise InputError(what, file, found=repr(value)[:80])
        try:
            return cls(**content)
        except InputError as error:
            raise InputError(error.message, file, None, None, error.found, error.expected) from None


def load_mapping(path: Path) -> Reading:
    """Return the reading that a mapping file describes (YAML, or JSON for a name in ``.json``).

    Raises
    ------
    InputError
        With file and line.
    """
    data = open_inside(path.parent, path.name, max_bytes=MAX_MAPPING_BYTES)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("the file is not UTF-8 text", path.name) from None
    content = loads_yaml(text, path.name)
    if not isinstance(content, Mapping) or content.get("schema") != SCHEMA:
        found = content.get("schema") if isinstance(content, Mapping) else type(content).__name__
        raise InputError("no mapping file", path.name, 1, None, repr(found), f"schema: {SCHEMA}")
    rest = {key: value for key, value in content.items() if key != "schema"}
    return Reading.from_dict(rest, path.name)
