"""The certificate in rows: levels, margins, violations, and what kept it from a verdict."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engiagent.blueprint.document import ConstraintDef
from engiagent.errors import EngiagentError
from engiagent.io.jsontext import loads_strict
from engiagent.report import words
from engiagent.report.artefacts import Run, mapping, sequence
from engiagent.report.tables import Cell, DataTable, csv_text, data_uri
from engiagent.run import certify
from engiagent.run.folder import CASES
from engiagent.solvers.solution import stored_arrays

LEVELS = {
    "data": "Are these the problem's numbers?",
    "algebra": "Do the requirements hold?",
    "physics": "Does the plan work when it is executed?",
    "optimality": "How far is it from the best?",
}
_STATUS = {
    "pass": ("✔", "good", "holds"),
    "fail": ("✘", "bad", "does not hold"),
    "unchecked": ("?", "open", "not checked"),
}
_SHOWN_ELSEWHERE = ("status", "checks", "findings")
MOST = 200
_OFFSET = re.compile(r"(?<=\d\d:\d\d)[+-]\d\d:\d\d")


@dataclass(frozen=True)
class Level:
    """One level of the certificate, with what it found in words."""

    name: str
    question: str
    symbol: str
    tone: str
    status: str
    notes: tuple[str, ...]
    meaning: str = ""


@dataclass(frozen=True)
class Check:
    """One check with its worst margin."""

    level: str
    name: str
    quote: str
    text: str
    margin: str
    where: str
    tolerance: str
    symbol: str
    tone: str
    status: str


@dataclass(frozen=True)
class Finding:
    """Something that stands against the schedule or the problem, with its words in the text."""

    text: str
    quote: str = ""


def levels(run: Run) -> list[Level]:
    """Return the levels of the certificate in their order."""
    found = mapping(run.certificate.get("levels"))
    rows = []
    for name, question in LEVELS.items():
        if name not in found:
            continue
        level = mapping(found[name])
        symbol, tone, status = _status(level.get("status"))
        notes = [finding.text for finding in map(_finding, sequence(level.get("findings")))]
        if name == "physics":
            notes += certify.executed(run.certificate)
        notes += [f"{key.replace('_', ' ')}: {value}" for key, value in _plain(level)]
        rows.append(Level(name, question, symbol, tone, status, tuple(notes[:MOST])))
    return rows


def checks(run: Run) -> list[Check]:
    """Return the checks of all levels, in their order."""
    found = mapping(run.certificate.get("levels"))
    rows = []
    for name in LEVELS:
        for key, members in mapping(found.get(name)).items():
            label = name if key == "checks" else f"{name}, {key.replace('_', ' ')}"
            rows += [_check(label, item) for item in sequence(members) if _is_check(item)]
    return rows[:MOST]


def demands(run: Run) -> list[Check]:
    """Return the checks of what is demanded, without those repeated on what was simulated."""
    return [check for check in checks(run) if check.level == "algebra"]


def check_table(run: Run) -> DataTable | None:
    """Return the checks with their worst margins as a table; None where there are none."""
    found = checks(run)
    if not found:
        return None
    head = ("Check", "Result", "Least margin", "Where", "Tolerance", "Rests on")
    rows = tuple(
        (
            Cell(check.name, note=check.level),
            Cell(check.status, tone=check.tone, symbol=check.symbol),
            Cell(check.margin, is_number=True),
            Cell(check.where),
            Cell(check.tolerance, is_number=True),
            Cell(check.quote, is_quote=True, note=check.text),
        )
        for check in found
    )
    plain = [[*(cell.text for cell in row), row[0].note, row[-1].note] for row in rows]
    title = "The least margin of every check; one below minus the tolerance is a violation"
    text, _ = csv_text([*head, "Level", "Formula"], plain)
    return DataTable(title, head, rows, data_uri(text), "checks.csv")


def case_table(run: Run) -> DataTable | None:
    """Return the base and the cases that were solved beside it; None where there are none."""
    path = run.folder / CASES
    if not path.is_file():
        return None
    try:
        points = loads_strict(path.read_text("utf-8"), CASES)["rows"]
        rows = tuple(
            (
                Cell(str(point["at"]["case"])),
                Cell(str(point["status"]), note=str(point.get("reason") or "")),
                Cell(
                    words.quantity(point["objective"], point["objective_unit"], 7)
                    if point.get("objective") is not None
                    else "–",
                    is_number=True,
                ),
            )
            for point in points
        )
    except (EngiagentError, OSError, UnicodeDecodeError, KeyError, TypeError):
        return None
    title = "The plan and the cases that are compared with it, each solved to its own optimum"
    return DataTable(
        title,
        ("Case", "Result", "Objective"),
        rows,
        note="The plan is certified; the other cases are as the solver reports them.",
    )


def tightest(run: Run, count: int) -> list[str]:
    """Return the limits that hold with the least room, as lines."""
    lines = []
    for found in certify.tightest(run.certificate, count):
        room = f"{words.quantity(found.slack, found.unit, 4)} to spare"
        at = f" ({_OFFSET.sub('', found.where).replace('T', ' ')})" if found.where else ""
        lines.append(f"{'At its limit' if found.at_limit else room}: {found.title}{at}")
    return lines


def _is_check(item: Any) -> bool:
    return isinstance(item, Mapping) and isinstance(item.get("worst"), Mapping)


def violations(run: Run) -> list[Finding]:
    """Return what must hold and does not."""
    quotes = _quotes(run)
    return [_violation(mapping(item), quotes) for item in _listed(run, "violations")]


def _quotes(run: Run) -> dict[str, str]:
    """Return the words of the text that each check rests on, by its id."""
    quotes: dict[str, str] = {}
    for level in mapping(run.certificate.get("levels")).values():
        for check in map(mapping, sequence(mapping(level).get("checks"))):
            quotes[str(check.get("id"))] = str(check.get("quote") or "")
    return quotes


def broken(run: Run) -> list[str]:
    """Return the demands that are broken, each once, in the words of the text where it has any."""
    quotes = _quotes(run)
    lines: dict[str, str] = {}
    for item in map(mapping, _listed(run, "violations")):
        check = str(item.get("check") or item.get("name") or item.get("message"))
        quote = str(item.get("quote") or quotes.get(check, ""))
        said = f"“{' '.join(quote.split())}”" if quote else _violation(item, quotes).text
        where = _OFFSET.sub("", place(item.get("where"))) if quote else ""
        by = ""
        if quote and item.get("amount") is not None:
            by = f" is broken by {words.quantity(item['amount'], item.get('unit'), 4)}"
        lines.setdefault(check, f"{said}{by}{f' at {where}' if where else ''}")
    return list(lines.values())


def missing(run: Run) -> list[Finding]:
    """Return the data that the problem does not give."""
    return [_finding(item) for item in _listed(run, "missing")]


def contradictions(run: Run) -> list[Finding]:
    """Return the statements of the problem that clash."""
    return [_finding(item) for item in _listed(run, "contradictions")]


def open_points(run: Run) -> list[Finding]:
    """Return what of the text is open in the reading, besides sentences nobody understood."""
    known = [f.text for f in not_understood(run)]
    left = sequence(mapping(run.certificate.get("reading")).get("open"))
    return [_finding(item) for item in left if not any(text in str(item) for text in known)][:MOST]


def not_understood(run: Run) -> list[Finding]:
    """Return the sentences that nobody understood."""
    return [_finding(item) for item in _listed(run, "not_understood")]


def conflicts(run: Run) -> list[Finding]:
    """Return the limits that a proof of infeasibility combines."""
    if run.solution is None:
        return []
    titles: dict[str, ConstraintDef] = {}
    if run.blueprint is not None:
        for item in run.blueprint.core.constraints:
            titles[item.constraint_id.replace("/", "_")] = item
    rows = []
    for name, array in stored_arrays(run.solution):
        if not name.startswith("farkas__"):
            continue
        count = int(np.sum(np.abs(np.nan_to_num(np.asarray(array.values))) > 1e-12))
        if not count:
            continue
        title, quote = _titled(name.removeprefix("farkas__"), titles)
        times = "" if count == 1 else f", at {count} places"
        rows.append(Finding(f"{title}{times}", quote))
    return rows


def _titled(name: str, constraints: Mapping[str, ConstraintDef]) -> tuple[str, str]:
    """Return a constraint's title and the words of the text that it rests on."""
    constraint = constraints.get(name)
    if constraint is None:
        return name, ""
    reference = constraint.source_reference
    parts = reference if isinstance(reference, tuple) else (reference,)
    quotes = [str(q) for part in parts if (q := mapping(part).get("quote"))]
    return constraint.name or constraint.constraint_id, " … ".join(quotes)


def _listed(run: Run, key: str) -> Sequence[Any]:
    return sequence(run.certificate.get(key, run.record.get(key)))[:MOST]


def _status(value: Any) -> tuple[str, str, str]:
    return _STATUS.get(value, ("?", "open", str(value) if value else "not checked"))


def _check(level: str, item: Mapping[str, Any]) -> Check:
    worst = mapping(item.get("worst"))
    symbol, tone, status = _status(item.get("status"))
    unit = worst.get("unit")
    return Check(
        level=level,
        name=str(item.get("name") or item.get("id") or ""),
        quote=str(item.get("quote") or ""),
        text=str(item.get("text") or ""),
        margin=words.quantity(worst["slack"], unit, 4) if "slack" in worst else "–",
        where=place(worst.get("where")),
        tolerance=_tolerance(item.get("tolerance"), unit),
        symbol=symbol,
        tone=tone,
        status=status,
    )


def _tolerance(value: Any, unit: Any) -> str:
    if isinstance(value, str):
        return value
    return "–" if value is None else words.quantity(value, unit, 4)


def place(where: Any) -> str:
    """Return the place of a row: the elements of its sets."""
    if isinstance(where, Mapping):
        return ", ".join(str(label).replace("T", " ") for label in where.values())
    return "" if where is None else str(where)


def _violation(item: Mapping[str, Any], quotes: Mapping[str, str]) -> Finding:
    name = str(item.get("name") or item.get("check") or "a check")
    message = str(item.get("message") or "")
    quote = str(item.get("quote") or quotes.get(str(item.get("check")), ""))
    level = f" [{item['level']}]" if item.get("level") else ""
    if name in message:  # a message that names its check says the rest as well
        return Finding(f"{message}{level}", quote)
    where = place(item.get("where"))
    at = f" at {where}" if where else ""
    by = ""
    if "amount" in item:
        by = f", by {words.quantity(item['amount'], item.get('unit'), 4)}"
        if item.get("tolerance") is not None:
            by += f" (tolerance {_tolerance(item['tolerance'], item.get('unit'))})"
    return Finding(f"{name}{at}{by}{f': {message}' if message else ''}{level}", quote)


def _finding(item: Any) -> Finding:
    """Return an entry that may be a sentence or an object with a quote and a message."""
    if not isinstance(item, Mapping):
        return Finding(str(item))
    quote = next((str(item[k]) for k in ("quote", "sentence", "text") if item.get(k)), "")
    said = [str(item[k]) for k in ("name", "message", "reason", "hint") if item.get(k)]
    return Finding(": ".join(said) or quote, quote if said else "")


def _plain(level: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what else a level says, one line for each value."""
    for key, value in level.items():
        if key in _SHOWN_ELSEWHERE or value in (None, "", [], {}):
            continue
        yield from _lines(key, value, 0)


def _lines(key: str, value: Any, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        unit = value.get("unit")
        number = next((value[k] for k in ("value", "amount", "slack") if k in value), None)
        if isinstance(number, int | float) and not isinstance(number, bool):
            at = place(value.get("where"))
            yield key, words.quantity(number, unit, 4) + (f" at {at}" if at else "")
        elif depth < 2:
            for name, item in value.items():
                yield from _lines(f"{key}, {name}", item, depth + 1)
    elif isinstance(value, list | tuple):
        rest = [item for item in value if not _is_check(item)][:20]
        if all(isinstance(item, str | int | float) for item in rest):
            if rest:
                yield key, ", ".join(str(item) for item in rest)
            return
        for item in rest:
            yield key, _summary(item)
    elif isinstance(value, bool):
        yield key, "yes" if value else "no"
    elif value is not None and value != "":
        yield key, words.number(value) if isinstance(value, int | float) else str(value)


def _summary(item: Any) -> str:
    """Return an object on one line: its words, then its numbers with the unit that it names."""
    if not isinstance(item, Mapping):
        return str(item)
    unit = item.get("unit")
    texts = [str(v) for k, v in item.items() if isinstance(v, str) and k != "unit" and v]
    numbers = [
        f"{key.replace('_', ' ')} {words.quantity(value, unit, 4)}"
        for key, value in item.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    return ", ".join([*texts, *numbers])
