"""How an external schedule is to be read: which column is what, in which unit, sign and clock."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

from engiagent.errors import InputError
from engiagent.io.files import open_inside
from engiagent.io.plainyaml import loads_yaml
from engiagent.units.unit import UnitError, parse_unit

SCHEMA: Final = "engiagent-mapping/1"
MAX_MAPPING_BYTES: Final = 1_000_000
_CHOICES: Final = {"labels": ("start", "end"), "decimal": (None, ".", ","), "hold": (True, False)}


@dataclass(frozen=True)
class Reading:
    """How an external schedule is to be read."""

    # quantity or variable to column. ``battery.net_charge`` takes a signed column apart and says
    # what its positive values are; a minus before the column turns its sign.
    mapping: Mapping[str, str] = field(default_factory=dict)
    # units by column or by quantity, for columns that name none
    units: Mapping[str, str] = field(default_factory=dict)
    labels: str = "start"  # whether a time stamp names the ``start`` of its period or the ``end``
    # whether a power that is given for longer periods holds in each of the shorter ones
    hold: bool = False
    # the zone of stamps that have no offset; by default that of the problem
    zone: str | None = None
    # ``,`` where numbers are written with decimal commas; None where the file shows it
    decimal: str | None = None

    def __post_init__(self) -> None:
        for name in ("mapping", "units"):
            value = getattr(self, name)
            texts = [*value, *value.values()] if isinstance(value, Mapping) else [None]
            if not all(isinstance(text, str) for text in texts):
                raise InputError(f"{name} is not a list of texts by name", found=repr(value)[:80])
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                expected = ", ".join(map(str, allowed))
                found = repr(getattr(self, name))[:80]
                raise InputError(f"no such choice of {name!r}", found=found, expected=expected)
        try:
            if self.zone is not None:
                ZoneInfo(self.zone)
        except (KeyError, ValueError, OSError, TypeError, AttributeError):
            found = repr(str(self.zone)[:60])
            raise InputError("unknown time zone", found=found, expected="Europe/Berlin") from None
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
        """Return the reading of a mapping file or of a record of a stored check."""
        if not isinstance(content, Mapping):
            raise InputError("no mapping of a schedule", file, found=type(content).__name__)
        for name in sorted(content.keys() - asdict(cls()).keys()):
            expected = ", ".join(asdict(cls()))
            raise InputError("unknown key in a mapping", file, None, None, repr(name), expected)
        try:
            return cls(**content)
        except InputError as error:
            raise InputError(error.message, file, None, None, error.found, error.expected) from None


def load_mapping(path: Path) -> Reading:
    """Return the reading that a mapping file describes (YAML, or JSON for a name in ``.json``)."""
    data = open_inside(path.parent, path.name, max_bytes=MAX_MAPPING_BYTES)
    try:
        content = loads_yaml(data.decode("utf-8-sig"), path.name)
    except UnicodeDecodeError:
        raise InputError("the file is not UTF-8 text", path.name) from None
    if not isinstance(content, Mapping) or content.get("schema") != SCHEMA:
        found = content.get("schema") if isinstance(content, Mapping) else type(content).__name__
        raise InputError("no mapping file", path.name, 1, None, repr(found), f"schema: {SCHEMA}")
    rest = {key: value for key, value in content.items() if key != "schema"}
    return Reading.from_dict(rest, path.name)
