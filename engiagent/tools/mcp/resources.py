"""What clients can read: problems, runs, open sessions, and the reference of the language.

A URI names files by their place below the workspace. Only what belongs to a problem or to a run is
shown, so a workspace may hold other things as well.
"""

import base64
from collections.abc import Callable, Iterator
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from mcp_types import BlobResourceContents, Resource, ResourceTemplate, TextResourceContents

from engiagent.errors import EngiagentError, InputError
from engiagent.io.files import open_inside
from engiagent.io.jsontext import dumps_canonical
from engiagent.run.folder import ARTEFACTS, RECORD, is_run_folder
from engiagent.run.listing import run_folders
from engiagent.text import Problem, corpus_root
from engiagent.text.corpus import TEXT_SUFFIXES
from engiagent.tools.mcp.sessions import Sessions
from engiagent.tools.places import inside
from engiagent.tools.posing import problems_below

SCHEME: Final = "engiagent"
_KINDS: Final = {
    ".md": "text/markdown",
    ".txt": "text/plain",
    ".csv": "text/csv",
    ".py": "text/x-python",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".yaml": "application/yaml",
    ".html": "text/html",
    ".nc": "application/x-netcdf",
}

_LANGUAGE: Final = {
    "reference.md": "The language of blueprints: fields, expressions, functions, units",
    "diagnostics.md": "What every finding of static analysis means",
    "blueprint.schema.json": "JSON Schema of blueprints",
}

_MOST: Final = 500
"""Problems whose files are listed; any other is read by its name all the same."""
_TEXTS: Final = ("problem.md", "problem.txt")
TEMPLATES: Final = (
    ("problems", "{+path}", "A file of a problem, as brewery/problem.md or brewery/prices.csv"),
    ("packaged", "{+path}", "A file of a worked problem that comes with engiagent"),
    ("runs", "{+path}", "An artefact of a run, as runs/first/certificate.json"),
    ("sessions", "{name}/calls.json", "The calls of a session, which can be made again"),
    ("sessions", "{name}/blueprint.json", "The blueprint of a session as it is now"),
)


def templates() -> list[ResourceTemplate]:
    """Return the forms of URIs."""
    return [
        ResourceTemplate(
            name=f"{kind}/{form}", uri_template=f"{SCHEME}://{kind}/{form}", description=said
        )
        for kind, form, said in TEMPLATES
    ]


def listed(sessions: Sessions) -> Iterator[Resource]:
    """Yield what can be read: the language, then problems, runs and sessions as they are now."""
    for name, said in _LANGUAGE.items():
        yield _resource("language", name, said)
    for place in islice(problems_below(sessions.root), _MOST):
        for path in _problem_files(place):
            yield _resource("problems", path.relative_to(sessions.root).as_posix())
    for path in _run_files(sessions.root):
        yield _resource("runs", path.relative_to(sessions.root).as_posix())
    for name in sessions.names():
        yield _resource("sessions", f"{name}/calls.json")


def read(uri: str, sessions: Sessions) -> TextResourceContents | BlobResourceContents:
    """Return what a URI stands for."""
    parts = urlsplit(uri)
    reader = _READERS.get(parts.netloc)
    if parts.scheme != SCHEME or reader is None or parts.query or parts.fragment:
        known = ", ".join(f"{SCHEME}://{kind}/…" for kind in _READERS)
        raise InputError("there is no such resource", uri[:200], expected=known)
    path = unquote(parts.path.removeprefix("/"))
    data, kind = reader(path, sessions), kind_of(path)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        blob = base64.b64encode(data).decode("ascii")
        return BlobResourceContents(uri=uri, mime_type=kind, blob=blob)
    return TextResourceContents(uri=uri, mime_type=kind, text=text)


def kind_of(path: str) -> str:
    """Return the media type of a file by its ending."""
    return _KINDS.get(Path(path).suffix.lower(), "application/octet-stream")


def _resource(kind: str, path: str, description: str | None = None) -> Resource:
    return Resource(
        name=path,
        uri=f"{SCHEME}://{kind}/{quote(path)}",
        description=description,
        mime_type=kind_of(path),
    )


def _language(path: str, sessions: Sessions) -> bytes:
    if path not in _LANGUAGE:
        raise InputError("there is no such page", path, expected=", ".join(_LANGUAGE))
    return files("engiagent.blueprint").joinpath(path).read_bytes()


def _of_a_problem(path: str, root: Path) -> bytes:
    """Return the text of a problem or one of its data files, never the expert's answer."""
    wanted = inside(root, path)
    places = [folder for folder in (wanted, *wanted.parents) if folder.is_relative_to(root)]
    for place in places:
        is_problem = place.is_file() or any((place / name).is_file() for name in _TEXTS)
        if is_problem and wanted in _problem_files(place):
            return open_inside(root, path)
    raise InputError("this is no file of a problem", path)


def _problem_files(place: Path) -> list[Path]:
    """Return the files of a problem; of one that cannot be read only its text."""
    try:
        problem = Problem.load(place)
    except EngiagentError:
        return [place] if place.is_file() and place.suffix.lower() in TEXT_SUFFIXES else []
    return [problem.path, *(problem.folder / name for name in problem.data)]


def _run(path: str, sessions: Sessions) -> bytes:
    """Return a file that lies in a run's folder or below it."""
    wanted = inside(sessions.root, path)
    below = [folder for folder in wanted.parents if folder.is_relative_to(sessions.root)]
    run = next((f for f in below if (f / RECORD).is_file() and is_run_folder(f)), None)
    if run is None or any(part.startswith(".") for part in wanted.relative_to(run).parts):
        raise InputError("this is no artefact of a run", path)
    return open_inside(sessions.root, path)


def _run_files(root: Path) -> Iterator[Path]:
    for folder in run_folders(root):
        yield from (path for name in (RECORD, *ARTEFACTS) if (path := folder / name).is_file())


def _session(path: str, sessions: Sessions) -> bytes:
    name, _, what = path.partition("/")
    session = sessions.look(name)
    if session is None:
        known = ", ".join(sessions.names()) or "a call first"
        raise InputError("there is no such session", name, expected=known)
    if what == "calls.json":
        return session.graph.to_json().encode("utf-8")
    if what == "blueprint.json" and session.state.has("blueprint"):
        document = session.state.get("blueprint").blueprint.to_dict()
        return dumps_canonical(document).encode("utf-8")
    raise InputError("the session has no such thing", path)


_READERS: Final[dict[str, Callable[[str, Sessions], bytes]]] = {
    "language": _language,
    "problems": lambda path, sessions: _of_a_problem(path, sessions.root),
    "packaged": lambda path, sessions: _of_a_problem(path, corpus_root()),
    "runs": _run,
    "sessions": _session,
}
