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

FIELDS: Final = ("title", "template", "assets", "name", "columns", "shared_limit")
PLACE: Final = "a place of the template, as battery.energy_capacity, or home.power* for a factor"


@dataclass(frozen=True)
class Template:
    """What all assets have in common."""

    blueprint: Blueprint
    folder: Path
    variations: tuple[Variation, ...]  # the places that the table fills
    limit: str | None  # the requirement that holds for all assets together
    identity: str  # what the results of an asset depend on besides its own row


@dataclass(frozen=True)
class Fleet:
    """What a fleet's file states, read."""

    title: str
    template: Template
    names: tuple[str, ...]  # of the assets
    values: Floats  # (assets, places)
    inputs: Mapping[str, str]  # SHA-256 of every file by name

    @classmethod
    def load(cls, path: Path) -> "Fleet":
        """Read a fleet's file; InputError with the place of what is wrong."""
        folder, file = path.parent, path.name
        raw = open_inside(folder, file)
        stated = loads_yaml(raw.decode("utf-8", errors="replace"), file)
        if not isinstance(stated, Mapping) or not {*stated} <= {*FIELDS}:
            found = ", ".join(map(str, stated)) if isinstance(stated, Mapping) else repr(stated)
            raise InputError("unknown field", file, found=found, expected=", ".join(FIELDS))
        for key in ("template", "assets", "shared_limit"):
            if not isinstance(stated.get(key, "" if key == "shared_limit" else None), str):
                expected = "the name of a requirement" if key == "shared_limit" else "a file"
                raise InputError(
                    f"wrong {key}", file, found=str(stated.get(key)), expected=expected
                )
        source, assets = stated["template"], stated["assets"]
        hashes = {file: sha256_bytes(raw), source: sha256_bytes(open_inside(folder, source))}
        known = Blueprint.is_in(folder / source)
        blueprint = Blueprint.load(folder / source) if known else _of_plant(folder / source)
        data = {name: sha256_bytes(open_inside(folder, name)) for name in data_files(blueprint)}
        table = read_table(folder, assets)
        names = _names(table.column(str(stated.get("name", "asset"))))
        others = {c.name: c.name for c in table.columns.values()}
        others.pop(str(stated.get("name", "asset")))
        chosen = stated.get("columns", others)
        if not isinstance(chosen, Mapping) or not chosen:
            raise InputError("columns name nothing", file, expected=f"{PLACE}: a column")
        columns = {str(place): table.column(str(column)) for place, column in chosen.items()}
        variations = tuple(_variation(place, column) for place, column in columns.items())
        limit = stated.get("shared_limit")
        identity = f"{blueprint.sha256} {sorted(data.items())} {variations} {limit}"
        template = Template(blueprint, folder.resolve(), variations, limit, identity)
        values = np.column_stack([column.numbers() for column in columns.values()])
        hashes |= {**data, assets: table.sha256}
        title = str(stated.get("title", path.stem))
        return cls(title, template, names, values, dict(sorted(hashes.items())))


def _of_plant(path: Path) -> Blueprint:
    return Site.load(path).blueprint()


def _names(column: TableColumn) -> tuple[str, ...]:
    names, seen = column.texts(), set()
    for row, name in enumerate(names):
        if not name or name in seen:
            raise column.error(row, "an asset's name stands twice" if name else "there is no name")
        seen.add(name)
    if not names:
        raise InputError("there are no assets", column.file)
    return names


def _variation(place: str, column: TableColumn) -> Variation:
    factor = place.endswith("*")
    if factor and column.unit_text not in ("", "1"):
        raise InputError("a factor has no unit", column.file, found=column.header, expected="none")
    return Variation(place.removesuffix("*").strip(), (), column.unit_text or None, factor)
