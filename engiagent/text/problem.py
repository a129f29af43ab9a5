"""Loading a problem: its text, tables, sentences, quantities and data files."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Self

from engiagent.blueprint.document import Blueprint
from engiagent.errors import InputError
from engiagent.io.files import open_inside, sha256_bytes, write_atomic
from engiagent.io.shows import Shows
from engiagent.io.tabular import SUFFIXES
from engiagent.text.blocks import read_sentences, read_tables
from engiagent.text.corpus import TEXT_SUFFIXES, locate
from engiagent.text.datafile import DataFile, load_data_file, mentioned_files
from engiagent.text.frontmatter import FrontMatter, is_zone, read_front_matter, split_front_matter
from engiagent.text.markdown import read_layout
from engiagent.text.parts import Quantity, Sentence, Table
from engiagent.text.quantities import read_quantities
from engiagent.units.words import Conventions, conventions_of

if TYPE_CHECKING:  # what the verbs take and return stands above the text
    from engiagent.agents.engines.asking import Asking
    from engiagent.blueprint import Blueprint
    from engiagent.explain.audit import Audit
    from engiagent.notebook.run import Run
    from engiagent.notebook.solution import Solution
    from engiagent.verify.certificate import Certificate

MAX_TEXT_BYTES: Final = 2_000_000
MAX_ENTRIES: Final = 5_000
TEXT_FILE: Final = "problem.md"
PLANT_SUFFIXES: Final = (".yaml", ".yml")
PLANT_FILE: Final = "plant.yaml"
PLANT_MARK: Final = re.compile(
    r"(?ms)^(?:components|buildings):.*^(?:horizon|goal):"
    r"|^(?:horizon|goal):.*^(?:components|buildings):"
)
"""The keys by which a YAML file of any name is a plant file."""
_CLUSTER_MARK: Final = re.compile(r"(?m)^buildings:")
_PLANT_NAME: Final = re.compile(r"[\w.-]+\.ya?ml\b")
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_. -]{0,99}")
_PLANT_TITLE: Final = re.compile(r"(?m)^title:[ \t]*(\S.*)$")
_ZONE: Final = re.compile(
    r"\b(?:Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Europe|Indian|Pacific)"
    r"/[A-Z][A-Za-z_+-]{1,30}(?:/[A-Z][A-Za-z_]{1,30})?"
)


@dataclass(frozen=True, repr=False)
class Body:
    """A text and what it consists of, without its data files."""

    text: str  # the whole file, front matter included, newlines normalised; all spans point into it
    body_start: int  # where the text begins after the front matter
    # sentences, tables, quantities: what the body consists of
    sentences: tuple[Sentence, ...]
    tables: tuple[Table, ...]
    quantities: tuple[Quantity, ...]
    # what the text settles about units: its one currency, degrees as angles
    conventions: Conventions

    @classmethod
    def read(cls, text: str, start: int, file: str) -> "Body":
        """Read a text whose body begins at ``start``; ``file`` is for messages."""
        conventions = conventions_of(text[start:])
        layout = read_layout(text, start, file)
        sentences = read_sentences(layout, file)
        tables = read_tables(layout, sentences, conventions)
        found = read_quantities(text, layout.spaced, sentences, tables, conventions, file)
        return Body(text, start, sentences, tables, found, conventions)


@dataclass(frozen=True, repr=False)
class Problem(Body, Shows):
    """An engineering problem as text with its data, and what can be done with it.

    What needs more than the text (engines, solvers, the checker) is in :mod:`engiagent.notebook`
    and imported when it is called.
    """

    # from the front matter; the id is else the folder's or file's name, the title the first heading
    id: str
    title: str
    family: str | None
    tags: tuple[str, ...]
    path: Path  # the problem file
    folder: Path  # and the folder it lies in
    data: Mapping[str, DataFile]  # the data files by name
    expert: Path | None  # the folder with the experts' answers, for the checker alone
    sha256: Mapping[str, str]  # of the bytes of every file, by name

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a problem from a ``.md`` or ``.txt`` file, a folder, or by its name in the corpus.

        A path that exists goes before a name, as ``merchant_day`` or ``battery/merchant_day``. A
        folder holds ``problem.md`` or exactly one ``.md`` or ``.txt`` file. Data files are those
        that the front matter lists or, without a list, those beside it that the body names.

        Raises InputError with file, line and column where there are such: whatever is absent,
        unreadable or contradicts the front matter.
        """
        place = Path(path)
        if not (place.exists() or place.suffix or place.is_absolute()):
            place = locate(str(path))
        file, own_folder = _find(place)
        folder, name = file.parent, file.name
        raw = open_inside(folder, name, max_bytes=MAX_TEXT_BYTES)
        text = decode_text(raw, name)
        # A plant file is formal from end to end: it has data, but no prose to be read.
        formal = file.suffix.lower() in PLANT_SUFFIXES
        yaml, body_start = (None, 0) if formal else split_front_matter(text)
        front = FrontMatter() if yaml is None else read_front_matter(yaml, name)
        if formal:
            body = Body(text, 0, (), (), (), conventions_of(text))
        else:
            body = Body.read(text, body_start, name)
        beside = _plant_beside(file) if own_folder and not formal else ""
        plants = _buildings_of(file, text) if formal else {}
        beside += "".join(raw.decode("utf-8", "replace") for raw in plants.values())
        data = _load_data(folder, name, text[body_start:] + beside, front, body.conventions)
        heading = next((s.text for s in body.sentences if s.kind == "heading"), None)
        if formal and (title := _PLANT_TITLE.search(text)):
            heading = title[1].strip("'\" ")
        identifier = _identifier(front, file, own_folder)
        expert = folder / "expert"
        hashes = {own: sha256_bytes(content) for own, content in plants.items()}
        hashes |= {name: sha256_bytes(raw), **{k: d.sha256 for k, d in data.items()}}
        return cls(
            **vars(body),
            id=identifier,
            title=front.title or heading or identifier,
            family=front.family,
            tags=front.tags,
            path=file,
            folder=folder,
            data=MappingProxyType(data),
            expert=expert if own_folder and not formal and expert.is_dir() else None,
            sha256=MappingProxyType(hashes),
        )

    @property
    def body(self) -> str:
        """The text after the front matter."""
        return self.text[self.body_start :]

    def place(self, offset: int) -> tuple[int, int]:
        """Return line and column, both from 1, of an offset into ``text``."""
        line_start = self.text.rfind("\n", 0, offset) + 1
        return self.text.count("\n", 0, offset) + 1, offset - line_start + 1

    @classmethod
    def from_text(
        cls, text: str, data: Mapping[str, Any] | None = None, folder: str | Path | None = None
    ) -> Self:
        """Make a problem from its text and data, written into a folder, by default a temporary one.

        ``data``: by file name a path, a text, or a table with ``to_csv`` as a pandas ``DataFrame``,
        whose index is written where it has a name.
        """
        target = Path(mkdtemp(prefix="problem-")) / "problem" if folder is None else Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        for name, content in (data or {}).items():
            if Path(name).name != name or name == TEXT_FILE:
                raise InputError("no name of a data file", found=name, expected="as prices.csv")
            write_atomic(target / name, _content(content))
        write_atomic(target / TEXT_FILE, text)
        return cls.load(target)

    def audit(self, seconds: float = 30.0) -> "Audit":
        """Say whether the text gives enough to be solved, and whether what it gives can hold."""
        from engiagent.notebook import problems

        return problems.audit_problem(self, seconds=seconds)

    def analyse(
        self, engine: str = "offline", *, values: Mapping[str, str] | None = None
    ) -> "Blueprint":
        """Return the blueprint of the problem, with what was not understood in its ``home``.

        ``engine``: ``offline`` takes the plant block or the stored reading, ``expert`` takes the
        reference that lies with a problem of the corpus; :meth:`run` asks a language model.
        ``values``: what the text does not give, as ``{"battery.charge_efficiency": "0.95"}``.
        Raises EngiagentError when nothing could be made of the text.
        """
        from engiagent.notebook import problems

        return problems.analyse(self, engine, values)

    def solve(self, engine: str = "offline", **options: Any) -> "Solution":
        """Analyse and solve in memory; see :meth:`analyse` and ``Blueprint.solve``."""
        return self.analyse(engine).solve(**options)

    def check(
        self, schedule: Any, mapping: Mapping[str, str] | None = None, *, exact: bool = False
    ) -> "Certificate":
        """Have an external schedule checked against the problem's annotated requirements.

        ``schedule``: a dataset, a ``DataFrame``, a mapping of arrays, or the path of a file.
        ``mapping``: quantity to column where those differ, as ``{"battery.charge": "P_ch"}``.
        ``exact``: whether to say beside every figure what rational arithmetic makes of it.
        """
        from engiagent.notebook import problems

        return problems.check(self, schedule, mapping, exact=exact)

    def run(
        self,
        out: str | Path | None = None,
        engine: str = "offline",
        *,
        values: Mapping[str, str] | None = None,
        asking: "Asking | None" = None,
        force: bool = False,
        progress: bool = True,
        **options: Any,
    ) -> "Run":
        """Take the problem through every stage and store all of it in a folder.

        A folder that holds a run of the same text is not begun again: a run that ended is opened,
        and one that was cut goes on where it was, so that a notebook can be run again.

        ``out``: the folder; None for a new one below ``runs/``. ``engine``: ``offline`` or
        ``anthropic``; ``asking``: whom the latter asks, and how; None for what its cards say.
        ``values``: as for :meth:`analyse`. ``force``: begin again, and replace what the folder
        holds. ``progress``: show how far it has come. ``options``: limits and settings of the
        solver, as ``time_limit=60``. Raises EngiagentError when the folder holds something else, or
        nobody is there to ask.
        """
        from engiagent.notebook import problems

        return problems.run(
            self, out, engine, values, asking, options, force=force, progress=progress
        )


def _content(given: Any) -> str | bytes:
    """Return what to write into a data file."""
    if isinstance(given, str) and "\n" in given:
        return given
    if isinstance(given, str | Path):
        try:
            return Path(given).read_bytes()
        except OSError as error:
            raise InputError(f"cannot read the data: {error.strerror}", str(given)) from None
    if hasattr(given, "to_csv"):
        index = getattr(given, "index", None)
        named = index is not None and any(name is not None for name in index.names)
        return str(given.to_csv(index=named, lineterminator="\n"))
    expected = "a path, a text or a DataFrame"
    raise InputError("this is no data", found=type(given).__name__, expected=expected)


def _find(path: Path) -> tuple[Path, bool]:
    """Return the problem file, and whether the folder belongs to it alone."""
    if path.is_dir():
        if (path / TEXT_FILE).exists():
            return path / TEXT_FILE, True
        found = sorted(p for p in path.iterdir() if p.suffix.lower() in TEXT_SUFFIXES)
        plants = [p for p in path.iterdir() if p.suffix.lower() in PLANT_SUFFIXES]
        if len(plants) > 1:  # a cluster goes before the buildings that it is made of
            clusters = [p for p in plants if _CLUSTER_MARK.search(p.read_text("utf-8", "replace"))]
            plants = clusters or plants
        if not found and (len(plants) == 1 or (path / PLANT_FILE) in plants):
            return plants[0] if len(plants) == 1 else path / PLANT_FILE, True
        if len(found) != 1:
            names = f"as texts: {', '.join(p.name for p in found[:10]) or 'none'}"
            expected = "problem.md, or exactly one .md or .txt file"
            what = "the folder holds no problem"
            raise InputError(what, str(path), found=names, expected=expected)
        return found[0], True
    if not path.exists():
        raise InputError("no such file or folder", str(path))
    formal = path.suffix.lower() in PLANT_SUFFIXES
    if not (formal or path.suffix.lower() in TEXT_SUFFIXES) or Blueprint.is_in(path):
        names = "a blueprint" if formal else repr(path.suffix)
        expected = "a .md, .txt or plant .yaml file, or a folder; solve takes a blueprint"
        raise InputError("no problem file", str(path), found=names, expected=expected)
    return path, path.name == TEXT_FILE


def _buildings_of(file: Path, text: str) -> dict[str, bytes]:
    """Return the plant files beside a cluster that it names; nothing for what is no cluster."""
    named = _PLANT_NAME.findall(text) if _CLUSTER_MARK.search(text) else ()
    there = [name for name in dict.fromkeys(named) if (file.parent / name).is_file()]
    return {name: open_inside(file.parent, name) for name in there if name != file.name}


def _plant_beside(file: Path) -> str:
    """Return the plant file that lies beside a problem's text; nothing without one."""
    if not (file.parent / PLANT_FILE).is_file():
        return ""
    return decode_text(open_inside(file.parent, PLANT_FILE), PLANT_FILE)


def decode_text(raw: bytes, file: str) -> str:
    """Return a file's text: UTF-8, BOM dropped, newlines normalised."""
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
    if front.id is None:
        name = file.absolute().parent.name if own_folder else file.stem
        return re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("_.")[:100] or "problem"
    if not _ID.fullmatch(front.id):
        found = repr(front.id[:60])
        expected = "letters, digits, '_', '-', '.' and blanks, at most 100"
        raise InputError("the id is no plain name", file.name, 1, None, found, expected)
    return front.id


def _load_data(
    folder: Path, file: str, body: str, front: FrontMatter, conventions: Conventions
) -> dict[str, DataFile]:
    listed = front.data or {}
    if front.data is None:
        listed = dict.fromkeys(mentioned_files(folder, body, SUFFIXES, MAX_ENTRIES), (1, 1))
    zones = {zone for zone in _ZONE.findall(body) if is_zone(zone)}
    zone = zones.pop() if len(zones) == 1 else None
    found = {}
    for name, place in listed.items():
        try:
            found[name] = load_data_file(folder, name, conventions, zone)
        except InputError as error:
            if error.file is None:
                error.file, (error.line, error.column) = file, place
            raise
    return found
