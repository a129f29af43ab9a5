"""A fleet: a template site, a table of assets, and which limit they share."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from engiagent.blueprint.document import Blueprint
from engiagent.errors import InputError
from engiagent.formulations.values import Floats
from engiagent.io.files import open_inside, sha256_bytes
from engiagent.io.plainyaml import loads_yaml
from engiagent.io.tabular import TableColumn, read_table
from engiagent.plant.site import Site
from engiagent.run.inputs import data_files
from engiagent.study.live import Variation

FIELDS: Final = {"template": "a file", "assets": "a table"}
OPTIONAL: Final = {"title": "a text", "shared_limit": "a requirement of the template"}
NAME: Final = "asset"
"""The column of the table that has names; the others are places of the template."""


@dataclass(frozen=True)
class Template:
    """What all assets have in common."""

    blueprint: Blueprint
    folder: Path
    variations: tuple[Variation, ...]  # the places that the table fills
    table: str  # its file
    limit: str | None  # the requirement that holds for all assets together
    identity: str  # what the results of an asset depend on besides its own row
    is_one_way: bool  # whether a price makes grids and stores go one way at a time


@dataclass(frozen=True)
class Fleet:
    """What a fleet's file states, read."""

    path: Path
    title: str
    template: Template
    names: tuple[str, ...]  # of the assets
    values: Floats  # (assets, places)
    inputs: Mapping[str, str]  # SHA-256 of every file by name

    @classmethod
    def load(cls, path: str | Path) -> "Fleet":
        """Read a fleet's file; InputError with the place of what is wrong."""
        path, allowed = Path(path), FIELDS | OPTIONAL
        folder = path.parent
        raw = open_inside(folder, path.name)
        stated = loads_yaml(raw.decode("utf-8", errors="replace"), path.name)
        given = stated if isinstance(stated, Mapping) else {}
        wrong = [name for name, value in given.items() if not isinstance(value, str)]
        if wrong or not {*FIELDS} <= {*given} <= {*allowed}:
            expected = ", ".join(f"{name}: {what}" for name, what in allowed.items())
            found = ", ".join(map(str, wrong or given)) or "no mapping"
            raise InputError("this is no fleet", path.name, found=found, expected=expected)
        source, table = given["template"], read_table(folder, given["assets"])
        files = {path.name: sha256_bytes(raw), source: sha256_bytes(open_inside(folder, source))}
        plant = not Blueprint.is_in(folder / source)
        of = Site.load(folder / source).blueprint() if plant else Blueprint.load(folder / source)
        data = {name: sha256_bytes(open_inside(folder, name)) for name in sorted(data_files(of))}
        names = table.column(NAME)
        columns = [column for column in table.columns.values() if column.name != names.name]
        variations, limit = tuple(map(_variation, columns)), given.get("shared_limit")
        for place in (item.name for item in variations):
            if sum(item.name == place for item in variations) > 1:
                headers = ", ".join(c.header for c in columns if c.name.startswith(place))
                said = f"two columns fill {place}"
                raise InputError(said, given["assets"], found=headers, expected="one")
        identity = f"{of.sha256} {data} {variations} {limit}"
        one_way = any("exclusive_on" in (c.options or {}) for c in of.core.components)
        filled = variations, given["assets"]
        template = Template(of, folder.resolve(), *filled, limit, identity, one_way)
        numbers = [column.numbers() for column in columns]
        values = np.column_stack(numbers) if numbers else np.zeros((len(names.texts()), 0))
        files |= {**data, given["assets"]: table.sha256}
        title = given.get("title", path.stem)
        return cls(
            path.resolve(), title, template, _names(names), values, dict(sorted(files.items()))
        )


def _names(column: TableColumn) -> tuple[str, ...]:
    names, seen = column.texts(), set()
    for row, name in enumerate(names):
        if not name or name in seen:
            raise column.error(row, "an asset's name stands twice" if name else "there is no name")
        seen.add(name)
    if not names:
        raise InputError("there are no assets", column.file)
    return names


def _variation(column: TableColumn) -> Variation:
    """Return what a column fills: ``battery.energy_capacity [kWh]``, a factor ``load.power*``."""
    factor, unit = column.name.endswith("*"), column.unit_text
    if factor and unit not in ("", "1"):
        raise InputError("a factor has no unit", column.file, found=column.header, expected="none")
    return Variation(column.name.removesuffix("*").strip(), (), unit or None, factor)
