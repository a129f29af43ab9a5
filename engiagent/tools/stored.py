"""Sessions on disk: a folder whose calls build on one another over processes.

``session/session.json`` is the graph of calls and says which parts there are; it is written last
and as a whole, so that a call that fails or is interrupted leaves the session as it was. Parts that
took work, as schedules, lie beside it; the others are made again when they are needed.
``site.yaml`` shows the configurations to people and is not read.
"""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from engiagent.errors import InputError
from engiagent.io.files import write_atomic
from engiagent.io.jsontext import dumps_canonical, loads_strict
from engiagent.io.plainyaml import dump_yaml
from engiagent.tools.registry import PARTS, Later, Made, Part, State, tools
from engiagent.tools.supervision import Graph, Node, Session

SCHEMA: Final = "engiagent-session/1"
FOLDER: Final = "session"
RECORD: Final = "session.json"
SHOWN: Final = "site.yaml"
_LOCK: Final = "lock"
_WAIT: Final = 600.0
"""How long a call waits for one that is under way in the same session. [s]"""


@contextmanager
def opened(folder: Path) -> Iterator[Session]:
    """Open the session of a folder, a new one where there is none, and store what is done in it.

    InputError when the folder cannot be made, what it holds cannot be read, or it stays in use.
    """
    try:
        (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder: {error.strerror}", str(folder)) from None
    with _locked(folder / FOLDER / _LOCK):
        session = _read(folder)
        before = session.graph
        yield session
        if session.graph is not before:
            _write(session, folder)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock that the system gives back when the process ends, however it ends."""
    with closing(sqlite3.connect(path, timeout=_WAIT, isolation_level=None)) as lock:
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            raise InputError(f"the session is in use: {error}", str(path.parent)) from None
        yield


def _read(folder: Path) -> Session:
    tools()  # the parts are declared where the tools are
    session, path = Session(folder.resolve()), folder / FOLDER / RECORD
    if not path.is_file():
        return session
    stored = loads_strict(path.read_text("utf-8"), str(path))
    if not isinstance(stored, dict) or stored.get("schema") != SCHEMA:
        raise InputError("this is no session", str(path), expected=SCHEMA)
    session.graph = Graph.from_json(dumps_canonical(stored["calls"]), str(path))
    parts: dict[Part, Made] = {}
    for part, entry in stored["parts"].items():
        place, node = entry.pop("folder"), session.graph.nodes[entry["call"]]
        load = PARTS[part].load
        if place and load is not None:
            value = Later(partial(load, folder / FOLDER / place))
        else:
            value = Later(partial(_again, part, node, session))
        parts[part] = Made(value, **entry)
    session.state = replace(session.state, parts=parts)
    return session


def _again(part: Part, node: Node, session: Session) -> Any:
    """Return a part that took no work worth storing, by the call that made it."""
    state = State(session.root, session.state.parts)
    return tools()[node.tool].work(state, node.arguments).makes[part]


def _write(session: Session, folder: Path) -> None:
    own, parts = folder / FOLDER, {}
    for part, made in session.state.parts.items():
        save, place = PARTS[part].save, None
        if save is None and session.state.stale(part):
            continue  # made again it would be another one
        if save is not None:
            place = f"{part}-{made.call}"
            if not isinstance(made.value, Later):
                shutil.rmtree(own / place, ignore_errors=True)
                (own / place).mkdir()
                save(made.value, own / place)
        parts[part] = {"call": made.call, "basis": dict(made.basis), "folder": place}
    calls = loads_strict(session.graph.to_json())
    record = {"schema": SCHEMA, "calls": calls, "parts": parts}
    write_atomic(own / RECORD, dumps_canonical(record))
    used = {entry["folder"] for entry in parts.values()}
    for path in own.iterdir():
        if path.is_dir() and path.name not in used:
            shutil.rmtree(path, ignore_errors=True)
    if session.state.has("site"):
        site = session.state.get("site")
        shown = {"active": site.active, "configurations": dict(site.configurations)}
        write_atomic(folder / SHOWN, dump_yaml(shown))
