"""The folder of one run: what was asked, how far it came, and every artefact, whole or absent.

``run.json`` is written first, with the state ``running``, and again whenever the state changes, so
that a run that was killed still says how far it came. ``trace.jsonl`` gets a line at the start
and at the end of each stage.
"""

import json
import math
import os
import re
import shutil
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any, Final, Literal

from engiagent import __version__
from engiagent.errors import EngiagentError, InputError
from engiagent.io.files import write_atomic
from engiagent.io.jsontext import dumps_canonical, loads_strict

SCHEMA: Final = "engiagent-run/1"
RECORD: Final = "run.json"
TRACE: Final = "trace.jsonl"
TRACEBACK: Final = "traceback.txt"
BLUEPRINT: Final = "blueprint.json"
SCRIPT: Final = "model.py"
SOLUTION: Final = "solution.nc"
CERTIFICATE: Final = "certificate.json"
EXPLANATION: Final = "explanation.json"
CASES: Final = "cases.json"
"""The base and the cases that the blueprint's report asks for, side by side; not certified."""
OPINION: Final = "opinion.json"
"""What a second solver said."""
REPORT: Final = "report.html"
SIMULATION: Final = "simulation.json"
LOOP: Final = "loop.json"
SIMULATED: Final = "data.nc"
"""What a plant showed that was simulated, by signal."""
CONTROLLED: Final = "plant.nc"
"""What a plant showed that was controlled."""
PROBLEM: Final = "problem"
EXCHANGES: Final = "exchanges"
"""What was said to a language model and what it answered, a file each."""
CALLS: Final = "calls.json"
"""What the agents did, as a graph of tool calls that can be made again."""
REQUIREMENTS: Final = "requirements.yaml"
"""What an engine took from the text; annotated requirements lie with the problem."""
MEETING: Final = "meeting.json"
"""The second reading of the text, and how it compares with the first."""
ARTEFACTS: Final = (
    BLUEPRINT,
    SCRIPT,
    SOLUTION,
    REQUIREMENTS,
    MEETING,
    CERTIFICATE,
    EXPLANATION,
    CASES,
    OPINION,
    REPORT,
    TRACE,
    TRACEBACK,
    CALLS,
    EXCHANGES,
    PROBLEM,
)
_STAY: Final = (PROBLEM, EXCHANGES, TRACE)
"""What a run that goes on keeps of what it has."""

_FIRST_PROGRESS: Final = 1.0
_NEXT_PROGRESS: Final = 1.05

State = Literal["running", "done", "failed", "interrupted"]
Kind = Literal["start", "end", "note"]


@dataclass(frozen=True, kw_only=True)
class StageEvent:
    """A stage starts, ends, or has something to say."""

    stage: str  # its name, as ``solve``
    kind: Kind
    text: str = ""  # what there is to say; for an end, how it ended when it did not end well
    seconds: float | None = None  # how long the stage took, at its end


OnEvent = Callable[[StageEvent], None]
TraceLine = Mapping[str, Any]


@dataclass
class RunFolder:
    """A run's folder and the record that it keeps in ``run.json``."""

    path: Path
    record: dict[str, Any]
    on_event: OnEvent | None = None
    notes: list[str] = field(default_factory=list)
    named: bool = True
    """Whether the caller said which folder."""
    _told_progress: float = 0.0

    @classmethod
    def create(
        cls,
        out: Path | str | None,
        problem: str,
        asked: Mapping[str, Any],
        *,
        force: bool = False,
        on_event: OnEvent | None = None,
    ) -> "RunFolder":
        """Make the folder of a new run, by default below ``runs/``, and write its record."""
        path = _unused(problem) if out is None else Path(out)
        _clear(path, force)
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot make the folder: {error.strerror}", str(path)) from None
        record: dict[str, Any] = {
            "schema": SCHEMA,
            "problem": problem,
            "asked": dict(asked),
            "state": "running",
            "stage": None,
            "verdict": None,
            "reason": None,
            "started": _now(),
            "finished": None,
            "pid": os.getpid(),
            "engiagent": __version__,
            "notes": [],
            "left_out": [],
            "artefacts": [],
        }
        folder = cls(path, record, on_event, named=out is not None)
        folder.save()
        return folder

    @classmethod
    def reopen(cls, path: Path, on_event: OnEvent | None = None) -> "RunFolder":
        """Return the folder of a run that goes on; problem, answers and trace stay."""
        record = read_record(path)
        if record["pid"] != os.getpid() and is_under_way(record):
            raise InputError("the run is still under way", str(path), found=f"{record['pid']}")
        if not (path / PROBLEM).is_dir():
            raise InputError("the run came without a problem, so it cannot go on", str(path))
        for name in (name for name in ARTEFACTS if name not in _STAY):
            (path / name).unlink(missing_ok=True)
        record |= {"state": "running", "verdict": None, "reason": None, "finished": None}
        record |= {"stage": None, "pid": os.getpid(), "notes": [], "left_out": []}
        record["resumed"] = [*record.get("resumed", ()), _now()]
        folder = cls(path, record, on_event)
        folder.save()
        folder._trace({"event": "resumed"})
        return folder

    def save(self) -> None:
        """Write ``run.json``."""
        present = [name for name in ARTEFACTS if (self.path / name).exists()]
        self.record |= {"artefacts": present, "notes": self.notes}
        # A file name that is no UTF-8 must not cost the record.
        text = dumps_canonical(self.record)
        write_atomic(self.path / RECORD, text.encode("utf-8", errors="replace"))

    def write(self, name: str, content: str | bytes) -> None:
        """Write an artefact; it is whole or absent."""
        target = self.path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(target, content)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Record the start and the end of a stage, however it ends."""
        self.record["stage"] = name
        self.save()
        self._trace({"stage": name, "event": "start"})
        self._tell(name, "start")
        started, self._told_progress = perf_counter(), 0.0
        outcome = "done"
        try:
            yield
        except BaseException as error:
            outcome = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
            raise
        finally:
            took = perf_counter() - started
            line = {"stage": name, "event": "end", "outcome": outcome, "seconds": round(took, 6)}
            self._trace(line)
            self._tell(name, "end", "" if outcome == "done" else outcome, took)

    def note(self, text: str) -> None:
        """Record something that a reader of the run should know but that stops nothing."""
        stage = str(self.record["stage"])
        self.notes.append(text)
        self._trace({"stage": stage, "event": "note", "text": text})
        self._tell(stage, "note", text)

    def leave_out(self, artefact: str) -> None:
        """Record that the time limit had passed before an artefact was begun."""
        self.record["left_out"].append(artefact)
        self.note(f"the time limit has passed, so there is no {artefact}")

    def line(self, event: str, line: Mapping[str, Any]) -> None:
        """Record an event of the work that the folder is of, with what is known of it."""
        self._trace({"event": event, **line})

    def progress(self, elapsed: float, report: Mapping[str, Any]) -> None:
        """Record how far a stage has come, ever more seldom, so that a long one fills no disk."""
        if elapsed < max(_FIRST_PROGRESS, _NEXT_PROGRESS * self._told_progress):
            return
        self._told_progress = elapsed
        known = {
            name: value
            for name, value in report.items()
            if value is not None and not (isinstance(value, float) and not math.isfinite(value))
        }
        self._trace({"stage": self.record["stage"], "event": "progress", **known})

    def finish(self, state: State, verdict: str | None, reason: str | None) -> None:
        """Record how the run ended."""
        self.record |= {"state": state, "verdict": verdict, "reason": reason, "finished": _now()}
        self.save()

    def save_traceback(self, error: BaseException) -> Path:
        """Write the traceback of an unexpected error and return its path."""
        self.write(TRACEBACK, "".join(traceback.format_exception(error)))
        return self.path / TRACEBACK

    def _trace(self, line: Mapping[str, Any]) -> None:
        text = json.dumps({"time": _now(), **line}, ensure_ascii=False)
        with open(self.path / TRACE, "a", encoding="utf-8", errors="replace") as file:
            file.write(text + "\n")

    def _tell(self, stage: str, kind: Kind, text: str = "", seconds: float | None = None) -> None:
        if self.on_event is not None:
            self.on_event(StageEvent(stage=stage, kind=kind, text=text, seconds=seconds))


def read_record(path: Path) -> dict[str, Any]:
    """Return the record of a run folder; InputError when it holds none."""
    file = path / RECORD
    try:
        record = loads_strict(file.read_text(encoding="utf-8"), str(file))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the run's record: {error}", str(file)) from None
    if not (isinstance(record, dict) and record.get("schema") == SCHEMA):
        raise InputError("this is no record of a run", str(file), expected=f'schema "{SCHEMA}"')
    return record


def read_trace(path: Path) -> tuple[TraceLine, ...]:
    """Return the lines of a run's trace; what a cut run left of its last line is passed over."""
    file = path / TRACE
    try:
        texts = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise InputError(f"cannot read the trace: {error.strerror}", str(file)) from None
    found = []
    for number, text in enumerate(texts, 1):
        try:
            line = json.loads(text)
        except ValueError:
            if number == len(texts):
                break
            raise InputError("no valid JSON", str(file), number) from None
        if not isinstance(line, dict):
            raise InputError("a line of a trace is an object", str(file), number)
        found.append(line)
    return tuple(found)


def is_run_folder(path: Path) -> bool:
    """Whether a folder holds the record of a run."""
    try:
        read_record(path)
    except EngiagentError:
        return False
    return True


def is_under_way(record: Mapping[str, Any]) -> bool:
    """Whether a run goes on: its record says so, and its process, here, has not ended."""
    pid = record.get("pid")
    if record.get("state") != "running" or not isinstance(pid, int) or pid <= 0:
        return False
    if pid == os.getpid() or os.name == "nt":
        return pid == os.getpid()
    try:
        os.kill(pid, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    return True


def _clear(path: Path, force: bool) -> None:
    """Make sure that nothing but an earlier run, and that only by request, is overwritten."""
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise InputError("the run's folder is a file or a link", str(path), expected="a folder")
    if not path.is_dir() or not any(path.iterdir()):
        return
    if not is_run_folder(path):
        raise InputError(
            "the folder is not empty and holds no earlier run",
            str(path),
            expected="a new or an empty folder",
        )
    kept = [path / name for name in (BLUEPRINT, EXCHANGES, TRACEBACK)]  # none: nothing was read
    if not force and (read_record(path)["state"] != "failed" or any(p.exists() for p in kept)):
        raise InputError(
            "the folder holds an earlier run", str(path), expected="a new folder, or --force"
        )
    _empty(path)


def remove_run(path: Path) -> bool:
    """Remove a run that has ended; return whether its folder is gone, which others' files stop."""
    if path.is_symlink():
        raise InputError("the run's folder is a link", str(path), expected="a folder")
    if is_under_way(read_record(path)):
        raise InputError("the run is still under way", str(path))
    _empty(path)
    try:
        path.rmdir()
    except OSError:
        return False
    return True


def _empty(path: Path) -> None:
    """Remove what runs write; the record goes last, so that what is cut off stays a run."""
    kept = [entry.name for entry in path.glob("schedule.*")]
    for name in (*ARTEFACTS, *kept, RECORD):
        old = path / name
        if old.is_dir() and not old.is_symlink():
            shutil.rmtree(old)
        else:
            old.unlink(missing_ok=True)


def _unused(problem: str) -> Path:
    """Return a folder below ``runs/`` that does not exist yet."""
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", problem).strip(".-")[:80] or "problem"
    stem = f"{slug}-{datetime.now():%Y%m%d-%H%M%S}"
    for number in range(1, 1000):
        path = Path("runs") / (stem if number == 1 else f"{stem}-{number}")
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise InputError(f"cannot make the folder: {error.strerror}", str(path)) from None
        return path
    raise InputError("there are too many runs of this second", f"runs/{stem}")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
