"""A fleet: a template site, a table of assets, and what limits them together."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.blueprint.document import Blueprint
from engiagent.errors import EngiagentError, InputError
from engiagent.formulations.program import ColumnBlock, Program
from engiagent.formulations.values import Floats
from engiagent.io.files import open_inside, sha256_bytes
from engiagent.io.plainyaml import loads_yaml
from engiagent.io.tabular import TableColumn, read_table
from engiagent.plant.site import Site
from engiagent.run.inputs import data_files
from engiagent.study.live import Variation
from engiagent.units.unit import conversion, parse_unit

_FIELDS: Final = ("title", "template", "assets", "name", "columns", "shared_limit")
_LIMIT: Final = ("of", "at_most")
PLACE: Final = "a place of the template, as battery.energy_capacity, or home.power* for a factor"


@dataclass(frozen=True)
class SharedLimit:
    """What all assets together may come to in each period."""

    of: Mapping[str, float]  # the quantities that are added, as grid.import, and their factors
    at_most: tuple[float, ...]  # one for all periods, or one for each
    unit: str

    def rows(self, program: Program) -> list[tuple[ColumnBlock, float]]:
        """Return the columns of the quantities and their factors; InputError without."""
        blocks = {block.quantity or block.name: block for block in program.columns}
        blocks |= {block.name: block for block in program.columns}
        for name in self.of:
            if name not in blocks:
                known = ", ".join(sorted({b.quantity or b.name for b in program.columns}))
                raise InputError("the template has no such quantity", found=name, expected=known)
        found = [(blocks[name], factor) for name, factor in self.of.items()]
        if len({(b.unit, b.shape) for b, _ in found}) != 1 or found[0][0].positions is not None:
            raise InputError("the quantities differ in unit or periods", found=", ".join(self.of))
        return found

    def values(self, program: Program) -> Floats:
        """Return the limit in each period, in the unit of its quantities."""
        block = self.rows(program)[0][0]
        try:
            scale, shift = conversion(parse_unit(self.unit or "1"), parse_unit(block.unit))
        except (EngiagentError, ValueError) as error:
            raise InputError(f"at_most: {error}", expected=f"a unit such as {block.unit}") from None
        values = np.asarray(self.at_most) * scale + shift
        if values.size not in (1, block.size):
            expected = f"one limit, or {block.size}"
            raise InputError("at_most: wrong length", found=f"{values.size}", expected=expected)
        return np.broadcast_to(values, (block.size,)).astype(np.float64)


@dataclass(frozen=True)
class Fleet:
    """What a fleet's file states, read."""

    title: str
    folder: Path
    blueprint: Blueprint  # of the template
    variations: tuple[Variation, ...]  # the places of the template that the table fills
    names: tuple[str, ...]  # of the assets
    values: Floats  # (assets, places)
    limit: SharedLimit | None
    inputs: Mapping[str, str]  # SHA-256 of every file by name

    @classmethod
    def load(cls, path: Path) -> "Fleet":
        """Read a fleet's file; InputError with the place of what is wrong."""
        folder, file = path.parent, path.name
        raw = open_inside(folder, file)
        stated = loads_yaml(raw.decode("utf-8", errors="replace"), file)
        if not isinstance(stated, Mapping):
            raise InputError("no fleet", file, expected=f"a mapping of {', '.join(_FIELDS)}")
        for key in stated:
            if key not in _FIELDS:
                expected = ", ".join(_FIELDS)
                raise InputError("unknown field", file, found=str(key), expected=expected)
        for key in ("template", "assets"):
            if not isinstance(stated.get(key), str):
                found = str(stated.get(key, "nothing"))
                raise InputError(f"no {key}", file, found=found, expected="the name of a file")
        template = folder / stated["template"]
        open_inside(folder, stated["template"])
        blueprint = (
            Blueprint.load(template)
            if Blueprint.is_in(template)
            else Site.load(template).blueprint()
        )
        table = read_table(folder, stated["assets"])
        name = str(stated.get("name", "asset"))
        names = table.column(name).texts()
        _require_names(names, table.column(name))
        chosen = stated.get("columns")
        if chosen is None:
            chosen = {c.name: c.name for c in table.columns.values() if c.name != name}
        if not isinstance(chosen, Mapping) or not chosen:
            raise InputError("columns name nothing", file, expected=f"{PLACE}: a column")
        columns = {str(place): table.column(str(column)) for place, column in chosen.items()}
        variations = tuple(_variation(place, column) for place, column in columns.items())
        values = np.column_stack([column.numbers() for column in columns.values()])
        inputs = {name: sha256_bytes(open_inside(folder, name)) for name in data_files(blueprint)}
        inputs |= {file: sha256_bytes(raw), stated["assets"]: table.sha256}
        inputs[stated["template"]] = sha256_bytes(open_inside(folder, stated["template"]))
        limit = _limit(stated.get("shared_limit"), folder, file)
        title = str(stated.get("title", path.stem))
        return cls(title, folder, blueprint, variations, names, values, limit, inputs)

    @cached_property
    def identity(self) -> str:
        """What the results of an asset depend on besides its own row, in one text.

        The limit is no part of it, nor are the other assets.
        """
        files = [self.inputs[name] for name in sorted(data_files(self.blueprint))]
        return " ".join([self.blueprint.sha256, *files, repr(self.variations)])


def _require_names(names: tuple[str, ...], column: TableColumn) -> None:
    if not names:
        raise InputError("there are no assets", column.file)
    seen: dict[str, int] = {}
    for row, name in enumerate(names):
        if not name:
            raise column.error(row, "an asset has no name")
        if seen.setdefault(name, row) != row:
            raise column.error(row, "an asset's name stands twice")


def _variation(place: str, column: TableColumn) -> Variation:
    name = place.removesuffix("*").strip()
    factor = place.endswith("*")
    if factor and column.unit_text not in ("", "1"):
        raise InputError("a factor has no unit", column.file, found=column.header, expected="none")
    return Variation(name, (), column.unit_text or None, factor)


def _limit(stated: Any, folder: Path, file: str) -> SharedLimit | None:
    if stated is None:
        return None
    example = "shared_limit: {of: grid.import, at_most: 300 kW}"
    if not isinstance(stated, Mapping) or sorted(stated) != sorted(_LIMIT):
        raise InputError("this limits nothing", file, found=str(stated), expected=example)
    of = stated["of"]
    of = {of: 1.0} if isinstance(of, str) else of
    if not isinstance(of, Mapping) or not all(type(v) in (int, float) for v in of.values()):
        expected = "a quantity, or {grid.import: 1, grid.export: -1}"
        raise InputError("wrong quantities", file, found=str(of), expected=expected)
    text = str(stated["at_most"])
    if "#" in text:
        name, header = text.split("#", 1)
        column = read_table(folder, name).column(header)
        return SharedLimit(of, tuple(column.numbers().tolist()), column.unit_text)
    number, _, unit = text.partition(" ")
    try:
        value = float(number)
    except ValueError:
        value = float("nan")
    if not np.isfinite(value):
        raise InputError("at_most is no quantity", file, found=text, expected=example)
    return SharedLimit(of, (value,), unit.strip())
