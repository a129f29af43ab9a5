"""What is answered to an address, a page or a file; no sockets here."""

from dataclasses import dataclass
from http import HTTPStatus
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit

from engiagent.errors import EngiagentError, InputError
from engiagent.report import compare, render_report
from engiagent.report.sections import stylesheet
from engiagent.report.view.library import Library
from engiagent.report.view.pages import Filters, error_page, list_page, run_address, run_page
from engiagent.run.folder import REPORT
from engiagent.run.listing import RunSummary

OWN: Final = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""What the viewer's own pages may load: what the viewer serves, and no script."""
REPORTS: Final = (
    "sandbox allow-downloads; default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""A report is a file that anybody may have made: it runs nothing and belongs to no origin."""
FILES: Final = "sandbox; default-src 'none'; frame-ancestors 'none'"
MOST_COMPARED: Final = 6
_HTML, _TEXT = "text/html; charset=utf-8", "text/plain; charset=utf-8"
_READABLE: Final = (".csv", ".json", ".jsonl", ".md", ".py", ".txt", ".yaml", ".yml")
_STATIC: Final = {"page.css": "text/css; charset=utf-8", "icon.svg": "image/svg+xml"}
_INSIDE: Final = "/-/"


@dataclass(frozen=True)
class Answer:
    """An answer with its Content-Security-Policy.

    ``saved_as`` is the name under which a browser saves it instead of showing it.
    """

    body: bytes
    kind: str = _HTML
    policy: str = OWN
    status: HTTPStatus = HTTPStatus.OK
    saved_as: str = ""


def answer(library: Library, address: str) -> Answer:
    """Return what is answered to an address, as ``/runs/shop``; errors are pages too."""
    try:
        parts = urlsplit(address)
        path = unquote(parts.path, errors="surrogateescape")
        return _answer(library, path, parse_qs(parts.query, max_num_fields=100))
    except (EngiagentError, ValueError) as error:
        return failure(HTTPStatus.NOT_FOUND, str(error))


def failure(status: HTTPStatus, message: str) -> Answer:
    """Return the page that says what went wrong."""
    page = error_page(status.phrase, message).encode("utf-8", errors="replace")
    return Answer(page, status=status)


def _answer(library: Library, path: str, query: dict[str, list[str]]) -> Answer:
    if path == "/":
        return _page(list_page(library, Filters.of_query(query)))
    if path == "/compare":
        return _page(_compared(library, query.get("run", [])), REPORTS)
    if path == "/favicon.ico":  # what browsers ask for beside a page that names no icon
        return _static("icon.svg")
    if path.startswith("/static/"):
        return _static(path.removeprefix("/static/"))
    if path == "/runs" or path.startswith("/runs/"):
        name, inside, file = path.removeprefix("/runs").partition(_INSIDE)
        run = library.run(name.strip("/"))
        return _file(library, run, file) if inside else _page(run_page(library, run))
    raise InputError("there is no such page", found=repr(path[:80]), expected="/")


def _page(text: str, policy: str = OWN) -> Answer:
    return Answer(text.encode("utf-8", errors="replace"), policy=policy)


def _static(name: str) -> Answer:
    if name not in _STATIC:
        raise InputError("there is no such file", found=repr(name[:80]))
    own = files("engiagent.report.view").joinpath("static", name).read_text("utf-8")
    return Answer(((stylesheet() if name == "page.css" else "") + own).encode(), _STATIC[name])


def _file(library: Library, run: RunSummary, path: str) -> Answer:
    if path == REPORT and not (run.folder / REPORT).exists():
        return _page(render_report(run.folder), REPORTS)
    data = library.read(run, path)
    if path == REPORT:
        return Answer(data, _HTML, REPORTS)
    place = PurePosixPath(path)
    if place.suffix in _READABLE:
        return Answer(data, _TEXT, FILES)
    return Answer(data, "application/octet-stream", FILES, saved_as=place.name)


def _compared(library: Library, names: list[str]) -> str:
    if not 2 <= len(names) <= MOST_COMPARED:
        raise InputError(
            "this many runs cannot be put side by side",
            found=str(len(names)),
            expected=f"two to {MOST_COMPARED}; go back and tick some",
        )
    runs = [library.run(name) for name in names]
    addresses = {run.folder: run_address(run) for run in runs}
    return compare([run.folder for run in runs], lambda run: addresses.get(run.folder, ""))
