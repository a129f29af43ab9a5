"""What a study found, and the file in which it stores each point."""

import csv
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, Protocol, Self

from engiagent import __version__
from engiagent.blueprint.document import Blueprint
from engiagent.errors import InputError
from engiagent.formulations.program import Program
from engiagent.io.files import open_inside, sha256_bytes, write_atomic
from engiagent.io.jsontext import dumps_canonical
from engiagent.io.shows import Shows
from engiagent.run.inputs import data_files
from engiagent.scale import map_runs
from engiagent.study.live import Json, Live, OnPoint, Setting

if TYPE_CHECKING:
    import pandas as pd

    from engiagent.notebook.figures import Figure

SCHEMA: Final = "engiagent-study/2"
POINTS: Final = "points.jsonl"
POINTS_SCHEMA: Final = "engiagent-study-points/2"
CERTIFIED_ALONE: Final = (
    "each plan is certified against the blueprint with its point's numbers, which count as given"
)
Row = tuple[Json, Json]
"""What was varied, and the record of the solve."""


@dataclass(frozen=True, repr=False)
class Study(Shows):
    """The points of a study."""

    kind: str  # ``cases``, ``sweep``, ``pareto`` or ``sensitivity``
    asked: Mapping[str, Any]  # what was asked, with the hashes of what was read
    program: Program  # for names and units of its objective
    # one object for each point: ``point``, ``at`` (what was varied), ``status``, ``objective``,
    # ``values`` by label with ``units``, ``series`` for values with an index, and more
    rows: tuple[Json, ...]
    notes: tuple[str, ...] = ()  # what a reader of the table has to know

    @property
    def title(self) -> str:
        """What was studied."""
        return f"{self.kind} of {self.program.objective_name}"

    @property
    def unit(self) -> str:
        """The unit of the objective."""
        return self.program.objective_unit

    def to_json(self) -> str:
        """Return everything as JSON."""
        return dumps_canonical(
            {
                "schema": SCHEMA,
                "kind": self.kind,
                "engiagent": __version__,
                "asked": dict(self.asked),
                "objective": {
                    "name": self.program.objective_name,
                    "unit": self.unit,
                    "sense": self.program.sense,
                },
                "notes": list(self.notes),
                "rows": list(self.rows),
            }
        )

    def table(self) -> list[Json]:
        """Return flat rows, a number a cell."""
        flat = []
        for row in self.rows:
            units = row.get("units") or {}
            cells: Json = {"point": row["point"], **_cells(row["at"]), "status": row["status"]}
            cells[f"objective [{row.get('objective_unit', self.unit)}]"] = row.get("objective")
            for name, value in (row.get("goals") or {}).items():
                cells[f"{name} [{row['goal_units'][name]}]"] = value
            for name in ("efficient", "bound", "gap", "verdict"):
                if name in row:
                    cells[name] = row[name]
            for label, value in (row.get("values") or {}).items():
                cells[f"{label} [{units.get(label, '1')}]"] = value
            cells["reason"] = row.get("reason", "")
            flat.append(cells)
        return flat

    def to_dataframe(self) -> "pd.DataFrame":
        """Return a row for every point: what was varied, the status, and what was found."""
        import pandas as pd

        return pd.DataFrame(self.table())

    def plot(self) -> "Figure":
        """Draw the study."""
        from engiagent.notebook.figures import of_study

        return of_study(self)

    def to_csv(self) -> str:
        """Return :meth:`table` as CSV."""
        rows, text = self.table(), io.StringIO()
        names = list(dict.fromkeys(name for row in rows for name in row))
        writer = csv.DictWriter(text, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue()

    def write(self, folder: Path) -> tuple[Path, ...]:
        """Write the table, and everything as JSON; return the paths."""
        texts = {f"{self.kind}.csv": self.to_csv(), f"{self.kind}.json": self.to_json()}
        for name, text in texts.items():
            write_atomic(folder / name, text)
        return tuple(folder / name for name in texts)


def _cells(at: Mapping[str, Any]) -> Json:
    """Return what was varied as a table has it: values by label become JSON."""
    return {k: json.dumps(v) if isinstance(v, list | dict) else v for k, v in at.items()}


class Checkpoint:
    """What a study has found so far, in a file that survives being cut off anywhere.

    One JSON object a line. The first says what the study is; each other one is a solve, under its
    key. A line that was cut off while it was written is dropped, and what it said is found again.

    ``folder``: the study's folder, made where there is none; None keeps everything in memory.
    ``asked``: what decides on the result; a folder that holds another study is refused. ``force``:
    begin anew whatever the folder holds. ``on_point``, ``total``: called with the number of solves
    done, of all solves, and what the last one found. Raises InputError when the folder holds
    another study or cannot be written to.
    """

    def __init__(
        self,
        folder: Path | None,
        asked: dict[str, Any],
        *,
        force: bool = False,
        on_point: OnPoint | None = None,
        total: int = 0,
    ) -> None:
        self._on_point, self._total = on_point, total
        self.records: dict[str, Any] = {}
        self._stream: IO[bytes] | None = None
        if folder is None:
            return
        path, head = folder / POINTS, {"schema": POINTS_SCHEMA, **asked}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            whole = b"" if force or not path.exists() else self._read(path, head)
            self._stream = path.open("r+b" if whole else "wb")
            self._stream.truncate(len(whole))
            self._stream.seek(len(whole))
            if not whole:
                self._line(head)
        except OSError as error:
            raise InputError(f"cannot store the study: {error.strerror}", str(folder)) from None

    def _read(self, path: Path, head: dict[str, Any]) -> bytes:
        """Take over the whole lines of a file and return them."""
        content = path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        anew = "--force, or another --out"
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                item = json.loads(line)
            except ValueError:
                text = "this line is no JSON"
                raise InputError(text, str(path), number, expected=anew) from None
            if number > 1:
                self.records[item["key"]] = item["found"]
            elif item != json.loads(json.dumps(head)):
                known = item if isinstance(item, dict) else {}
                names = [name for name in {**head, **known} if known.get(name) != head.get(name)]
                raise InputError(
                    "the folder holds another study",
                    str(path),
                    found=f"another {', '.join(names)}",
                    expected=f"the same request and inputs, {anew}",
                )
        return whole

    def take(self, key: str, found: Any) -> None:
        """Store what was found under a key, on the disk at once."""
        self.records[key] = found
        self._line({"key": key, "found": found})
        if self._on_point is not None:
            self._on_point(len(self.records), self._total, found)

    def _line(self, item: dict[str, Any]) -> None:
        if self._stream is not None:
            text = json.dumps(item, allow_nan=False, ensure_ascii=False)
            self._stream.write(text.encode() + b"\n")
            self._stream.flush()
            os.fsync(self._stream.fileno())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._stream is not None:
            self._stream.close()


Records = Mapping[str, Any]
"""What solves found, by their keys."""


@dataclass(frozen=True)
class Begun:
    """A study under way."""

    live: Live
    # solves by key, with what ``solve`` takes: those of a batch may run at once, a later one may
    # depend on what was found before
    batches: Callable[[Records], Iterable[Sequence[tuple[str, Any]]]]
    solve: Callable[[Any], Any]
    rows: Callable[[Records], Iterable[Row]]  # all of them in order
    total: int  # how many solves there are
    notes: Sequence[str] = ()
    read: Sequence[Blueprint] = ()  # further blueprints whose data files decide on the result
    fronts: bool = False  # whether a solve gives several records

    @classmethod
    def of(
        cls,
        live: Live,
        solves: Mapping[str, Callable[[], Any]],
        rows: Callable[[Records], Iterable[Row]],
        *about: Any,
        **more: Any,
    ) -> Self:
        """Return a study whose solves do not depend on each other."""
        batch = [(key, key) for key in solves]
        return cls(
            live, lambda _: [batch], lambda key: solves[key](), rows, len(batch), *about, **more
        )


def _solved(
    asked: "Asked", blueprint: Blueprint, begun: Begun, arguments: Sequence[Any]
) -> Iterator[Any]:
    """Yield what is found for arguments of solves, in their order."""
    setting = replace(begun.live.setting, on_point=None)
    if setting.spread is None:
        yield from map(begun.solve, arguments)
        return
    shared = (asked, blueprint, setting)
    for outcome in map_runs(_found, arguments, setting.spread, shared=shared, setup=_begun):
        lost = {"status": "error", "reason": outcome.reason}
        yield outcome.value if outcome.ok else [lost] if begun.fronts else lost


def _begun(shared: tuple["Asked", Blueprint, Setting]) -> Begun:
    asked, blueprint, setting = shared
    return asked.begin(blueprint, setting)


def _found(begun: Begun, argument: Any) -> Any:
    return begun.solve(argument)


class Asked(Protocol):
    """What is asked of a study: cases, a sweep, a front or a sensitivity."""

    @property
    def kind(self) -> str:
        """``cases``, ``sweep``, ``pareto`` or ``sensitivity``."""

    def to_json(self) -> Json:
        """Return what is asked as JSON has it; a folder that holds another request is refused."""

    def begin(self, blueprint: Blueprint, setting: Setting) -> Begun:
        """Compile what is needed; nothing is solved yet."""


def run_study(asked: Asked, blueprint: Blueprint, setting: Setting | None = None) -> Study:
    """Solve a programme as often as a study asks, and return what was found, in order.

    ``asked``: :class:`~engiagent.study.modes.Cases`, :class:`~engiagent.study.modes.Sweep`,
    :class:`~engiagent.study.modes.Pareto` or :class:`~engiagent.study.modes.Sensitivity`.
    Raises EngiagentError when the blueprint is wrong, a name leads nowhere, or the folder holds
    another study or cannot be written to.
    """
    setting = setting or Setting()
    begun = asked.begin(blueprint, setting)
    head = _asked_of(asked, begun)
    with Checkpoint(
        setting.out, head, force=setting.force, on_point=setting.on_point, total=begun.total
    ) as stored:
        for batch in begun.batches(stored.records):
            missing = [item for item in batch if item[0] not in stored.records]
            arguments = [argument for _, argument in missing]
            found_now = _solved(asked, blueprint, begun, arguments)
            for (key, _), record in zip(missing, found_now, strict=True):
                stored.take(key, record)
    rows = enumerate(begun.rows(stored.records))
    found = [{"point": k, "at": at, **record} for k, (at, record) in rows]
    absent = {row["at"].get("case"): row["absent"] for row in found if row.get("absent")}
    lacks = (f"{k or 'the programme'}: there is no {', '.join(v)}" for k, v in absent.items())
    notes = (*begun.notes, *lacks, *((CERTIFIED_ALONE,) if setting.certify else ()))
    return Study(asked.kind, head, begun.live.program, tuple(found), notes)


def _asked_of(asked: Asked, begun: Begun) -> Json:
    """Return what decides on a study's result: inputs by their hashes, request, limits."""
    live = begun.live
    setting, options = live.setting, live.setting.options
    folder = setting.folder or Path()
    named = (name for b in (live.blueprint, *begun.read) for name in data_files(b))
    limits = ("backend", "gap", "time_limit", "memory_limit_mb", "seed", "speed")
    return {
        "kind": asked.kind,
        "version": __version__,
        "blueprint": live.blueprint.sha256,
        "data": {name: sha256_bytes(open_inside(folder, name)) for name in dict.fromkeys(named)},
        "request": {**asked.to_json(), "show": list(setting.show)},
        "certify": setting.certify,
        "limits": {name: getattr(options, name) for name in limits},
    }
