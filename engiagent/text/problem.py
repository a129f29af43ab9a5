"""Loading a problem: its text, tables, sentences, quantities and data files."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final, Self

from engiagent.errors import InputError
from engiagent.io.files import open_inside, sha256_bytes
from engiagent.io.tabular import SUFFIXES
from engiagent.text.blocks import read_sentences, read_tables
from engiagent.text.datafile import DataFile, load_data_file, mentioned_files
from engiagent.text.frontmatter import (
    DataOptions,
    FrontMatter,
    is_zone,
    read_front_matter,
    split_front_matter,
)
from engiagent.text.markdown import read_layout
from engiagent.text.parts import Quantity, Sentence, Table
from engiagent.text.quantities import read_quantities
from engiagent.units.words import Conventions, conventions_of

MAX_TEXT_BYTES: Final = 2_000_000
MAX_ENTRIES: Final = 5_000
TEXT_SUFFIXES: Final = (".md", ".txt")
PLANT_SUFFIXES: Final = (".yaml", ".yml")
PLANT_FILE: Final = "plant.yaml"
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_. -]{0,99}")
_ZONE: Final = re.compile(
    r"\b(?:Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Europe|Indian|Pacific)"
    r"/[A-Z][A-Za-z_+-]{1,30}(?:/[A-Z][A-Za-z_]{1,30})?"
)


@dataclass(frozen=True)
class Problem:
    """An engineering problem as text with its data.

    Attributes
    ----------
    id, title, family, tags
        From the front matter; the id is else the folder's or file's name, the title the first
        heading.
    path, folder
        The problem file and the folder it lies in.
    text
        The whole file, front matter included, newlines normalised; all spans point into it.
    body_start
        Where the text begins after the front matter.
    tables, sentences, quantities
        What the body consists of.
    data
        The data files by name.
    expert
        The folder with the experts' answers, for the checker alone; None without one.
    sha256
        Of the bytes of every file, by name.
    conventions
        What the text settles about units: its one currency, degrees as angles.
    """

    id: str
    title: str
    family: str | None
    tags: tuple[str, ...]
    path: Path
    folder: Path
    text: str = field(repr=False)
    body_start: int
    tables: tuple[Table, ...]
    data: Mapping[str, DataFile]
    sentences: tuple[Sentence, ...]
    quantities: tuple[Quantity, ...]
    expert: Path | None
    sha256: Mapping[str, str]
    conventions: Conventions

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a problem from a ``.md`` or ``.txt`` file, or from a folder.

        A folder holds ``problem.md`` or exactly one ``.md`` or ``.txt`` file. Data files are those
        that the front matter lists or, without a list, those beside it that the body names.

        Raises
        ------
        InputError
            With file, line and column where there are such: whatever is absent, unreadable or
            contradicts the front matter.
        """
        file, own_folder = _find(Path(path))
        folder, name = file.parent, file.name
        raw = open_inside(folder, name, max_bytes=MAX_TEXT_BYTES)
        text = decode_text(raw, name)
        if file.suffix.lower() in PLANT_SUFFIXES:
            return cls._of_plant(file, own_folder, text, sha256_bytes(raw))
        yaml, body_start = split_front_matter(text)
        front = FrontMatter() if yaml is None else read_front_matter(yaml, name)
        body = text[body_start:]
        conventions = conventions_of(body)
        layout = read_layout(text, body_start, name)
        sentences = read_sentences(layout, name)
        tables = read_tables(layout, sentences, conventions)
        beside = _plant_beside(file) if own_folder else ""
        data = _load_data(folder, name, body + beside, front, conventions)
        heading = next((s.text for s in sentences if s.kind == "heading"), None)
        identifier = _identifier(front, file, own_folder)
        expert = folder / "expert"
        return cls(
            id=identifier,
            title=front.title or heading or identifier,
            family=front.family,
            tags=front.tags,
            path=file,
            folder=folder,
            text=text,
            body_start=body_start,
            tables=tables,
            data=MappingProxyType(data),
            sentences=sentences,
            quantities=read_quantities(text, layout.spaced, sentences, tables, conventions, name),
            expert=expert if own_folder and expert.is_dir() else None,
            sha256=MappingProxyType(
                {name: sha256_bytes(raw), **{k: d.sha256 for k, d in data.items()}}
            ),
            conventions=conventions,
        )

    @classmethod
    def _of_plant(cls, file: Path, own_folder: bool, text: str, digest: str) -> Self:
        """Return the problem that a plant file states: all of it is formal, none of it prose."""
        conventions, front = conventions_of(text), FrontMatter()
        data = _load_data(file.parent, file.name, text, front, conventions)
        title = re.search(r"(?m)^title:[ \t]*(\S.*)$", text)
        identifier = _identifier(front, file, own_folder)
        return cls(
            id=identifier,
            title=title[1].strip("'\" ") if title else identifier,
            family=None,
            tags=(),
            path=file,
            folder=file.parent,
            text=text,
            body_start=0,
            tables=(),
            data=MappingProxyType(data),
            sentences=(),
            quantities=(),
            expert=None,
            sha256=MappingProxyType({file.name: digest, **{k: d.sha256 for k, d in data.items()}}),
            conventions=conventions,
        )

    @property
    def body(self) -> str:
        """The text after the front matter."""
        return self.text[self.body_start :]

    def place(self, offset: int) -> tuple[int, int]:
        """Return line and column, both from 1, of an offset into ``text``."""
        line_start = self.text.rfind("\n", 0, offset) + 1
        return self.text.count("\n", 0, offset) + 1, offset - line_start + 1

    def data_file(self, name: str) -> DataFile:
        """Return a data file by name.

        Raises
        ------
        InputError
            When the problem has none of this name.
        """
        if name not in self.data:
            listed = ", ".join(self.data) or "none"
            raise InputError(f"no data file {name!r}", self.path.name, expected=f"one of: {listed}")
        return self.data[name]

    def __repr__(self) -> str:
        return (
            f"Problem({self.id!r}: {self.title!r}, {len(self.sentences)} sentences, "
            f"{len(self.quantities)} quantities, {len(self.tables)} tables, "
            f"data {list(self.data)})"
        )


def _find(path: Path) -> tuple[Path, bool]:
    """Return the problem file, and whether the folder belongs to it alone."""
    if path.is_dir():
        if (path / "problem.md").exists():
            return path / "problem.md", True
        found = sorted(p for p in path.iterdir() if p.suffix.lower() in TEXT_SUFFIXES)
        plants = [p for p in path.iterdir() if p.suffix.lower() in PLANT_SUFFIXES]
        if not found and (len(plants) == 1 or (path / PLANT_FILE) in plants):
            return plants[0] if len(plants) == 1 else path / PLANT_FILE, True
        if len(found) != 1:
            names = ", ".join(p.name for p in found[:10]) or "none"
            raise InputError(
                "the folder holds no problem",
                str(path),
                found=f"as texts: {names}",
                expected="problem.md, or exactly one .md or .txt file",
            )
        return found[0], True
    if not path.exists():
        raise InputError("no such file or folder", str(path))
    if path.suffix.lower() not in (*TEXT_SUFFIXES, *PLANT_SUFFIXES):
        raise InputError(
            "no problem file",
            str(path),
            found=repr(path.suffix),
            expected="a .md, .txt or plant .yaml file, or a folder",
        )
    return path, path.name == "problem.md"


def _plant_beside(file: Path) -> str:
    """Return the plant file that lies beside a problem's text; nothing without one."""
    if not (file.parent / PLANT_FILE).is_file():
        return ""
    return decode_text(open_inside(file.parent, PLANT_FILE), PLANT_FILE)


def decode_text(raw: bytes, file: str) -> str:
    """Return a file's text: UTF-8, BOM dropped, newlines normalised.

    Raises
    ------
    InputError
        With the line of the first byte that is no UTF-8, or of a NUL; and for an empty text.
    """
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError("the file is UTF-16", file, 1, expected="text in UTF-8")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        found = f"the byte 0x{raw[error.start]:02x}"
        raise InputError("the text is not in UTF-8", file, line, column, found) from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError("a NUL character in the text", file, line)
    if not text.strip():
        raise InputError("the file is empty", file)
    return text


def _identifier(front: FrontMatter, file: Path, own_folder: bool) -> str:
    if front.id is not None:
        if not _ID.fullmatch(front.id):
            raise InputError(
                "the id is no plain name",
                file.name,
                1,
                found=repr(front.id[:60]),
                expected="letters, digits, '_', '-', '.' and blanks, at most 100",
            )
        return front.id
    name = file.absolute().parent.name if own_folder else file.stem
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("_.")[:100] or "problem"


def _load_data(
    folder: Path, file: str, body: str, front: FrontMatter, conventions: Conventions
) -> dict[str, DataFile]:
    listed = front.data
    if listed is None:
        names = mentioned_files(folder, body, SUFFIXES, MAX_ENTRIES)
        listed = {name: DataOptions() for name in names}
    zones = {zone for zone in _ZONE.findall(body) if is_zone(zone)}
    zone = zones.pop() if len(zones) == 1 else None
    return {
        name: load_data_file(folder, name, options, conventions, zone, file)
        for name, options in listed.items()
    }
