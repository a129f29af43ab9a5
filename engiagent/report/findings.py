"""The certificate in rows: checks with margins, violations, cases, and the explanation."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from engiagent.errors import EngiagentError
from engiagent.explain import Explanation
from engiagent.explain.text import lines_of
from engiagent.io.jsontext import loads_strict
from engiagent.report import words
from engiagent.report.artefacts import Run, finite, mapping, sequence
from engiagent.report.sections import Cell, DataTable, Fact, table_with_csv
from engiagent.run import certify
from engiagent.run.folder import CASES, EXPLANATION
from engiagent.study.returns import compared_cases
from engiagent.verify.certificate import LEVELS

_STATUS = {
    "pass": ("✔", "good", "holds"),
    "fail": ("✘", "bad", "does not hold"),
    "unchecked": ("?", "open", "not checked"),
}
_SHOWN_ELSEWHERE = ("status", "checks", "findings")
_TITLES: Final = {
    "infeasible": "Why there is no plan",
    "unbounded": "What has no limit",
    "plan": "Limits in force",
    "stopped": "Why it came to no end",
}
MOST = 200
_MOST_LINES = 40
_OFFSET = re.compile(r"(?<=\d\d:\d\d)[+-]\d\d:\d\d")


@dataclass(frozen=True)
class Finding:
    """Something that stands against the schedule or the problem, with its words in the text."""

    text: str
    quote: str = ""


def status(value: Any) -> tuple[str, str, str]:
    """Return symbol, tone and word of the status of a level or a check."""
    return _STATUS.get(value, ("?", "open", str(value) if value else "not checked"))


def notes(run: Run, name: str) -> list[str]:
    """Return what a level of the certificate found, a line each."""
    level = run.part("levels", name)
    lines = [_finding(item).text for item in sequence(level.get("findings"))]
    lines += certify.executed(run.certificate) if name == "physics" else []
    for key, value in level.items():
        text = "" if key in _SHOWN_ELSEWHERE else _text(value)
        lines += [f"{key.replace('_', ' ')}: {text}"] if text else []
    return lines[:MOST]


def _text(value: Any) -> str:
    """Return a value of a level on one line; nothing for one with parts of its own."""
    if isinstance(value, Mapping):
        number = next((value[k] for k in ("value", "amount", "slack") if k in value), None)
        if finite(number) is None:
            return ""
        at = place(value.get("where"))
        return words.quantity(number, value.get("unit"), 4) + (f" at {at}" if at else "")
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        return ", ".join(str(item) for item in value[:20])
    return words.number(value) if isinstance(value, str | int | float) else ""


def checks(run: Run) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the checks of all levels in their order, each with where it was made."""
    rows = []
    for name in LEVELS:
        for key, members in run.part("levels", name).items():
            label = name if key == "checks" else f"{name}, {key.replace('_', ' ')}"
            rows += [(label, item) for item in sequence(members) if _is_check(item)]
    return rows[:MOST]


def check_table(run: Run) -> DataTable | None:
    """Return the checks with their worst margins as a table; None where there are none."""
    rows = []
    for level, check in checks(run):
        worst, (symbol, tone, word) = mapping(check.get("worst")), status(check.get("status"))
        unit = worst.get("unit")
        quote, formula = str(check.get("quote") or ""), str(check.get("text") or "")
        margin = words.quantity(worst["slack"], unit, 4) if "slack" in worst else "–"
        rows.append(
            (
                Cell(str(check.get("name") or check.get("id") or ""), note=level),
                Cell(word, tone=tone, symbol=symbol),
                Cell(margin, is_number=True),
                Cell(place(worst.get("where"))),
                Cell(_tolerance(check.get("tolerance"), unit), is_number=True),
                Cell(quote, is_quote=True, note=formula),
            )
        )
    if not rows:
        return None
    head = ("Check", "Result", "Least margin", "Where", "Tolerance", "Rests on")
    plain = [[*(cell.text for cell in row), row[0].note, row[-1].note] for row in rows]
    title = "The least margin of every check; one below minus the tolerance is a violation"
    return table_with_csv(title, head, rows, "checks.csv", plain, ("Level", "Formula"))


def case_table(run: Run) -> DataTable | None:
    """Return the base and the cases that were solved beside it; None where there are none."""
    rows = tuple(map(_case, _cases(run)))
    if not rows:
        return None
    return DataTable(
        "The plan and the cases that are compared with it, each solved to its own optimum",
        ("Case", "Result", "Objective", "The plan saves"),
        rows,
        note="The plan is certified; the other cases are as the solver reports them.",
    )


def _cases(run: Run) -> tuple[Mapping[str, Any], ...]:
    """Return the cases that lie beside the plan; none where they cannot be read."""
    path = run.folder / CASES
    if not path.is_file() or run.blueprint is None:
        return ()
    try:
        stored = loads_strict(path.read_text("utf-8"), CASES)["rows"]
        return compared_cases(stored, run.blueprint.core)
    except (EngiagentError, OSError, UnicodeDecodeError, KeyError, TypeError):
        return ()


def saving(run: Run) -> list[Fact]:
    """Return what the plan saves against the baseline, if there is one."""
    return [
        Fact("Saved", words.quantity(case["saving"], case["unit"], 9), f"against the {about}")
        for case in _cases(run)
        if case.get("saving") is not None
        for about in ["baseline" + (f", {case['description']}" if "description" in case else "")]
    ]


def _case(case: Mapping[str, Any]) -> tuple[Cell, ...]:
    goal, saved, earned = "–", "", []
    unit = case["unit"]
    if case["objective"] is not None:
        goal = words.quantity(case["objective"], unit, 7)
    if case.get("saving") is not None:
        share = words.percent(case["saving_share"])
        saved = f"{words.quantity(case['saving'], unit, 7)}{share and f' ({share})'}"
    if case.get("investment") is not None:
        earned.append(f"for {words.quantity(case['investment'], unit, 7)}")
        if case["payback_years"] is not None:
            earned.append(f"paid back in {words.number(case['payback_years'], 3)} years")
        if case.get("net_present_value") is not None:
            worth = words.quantity(case["net_present_value"], unit, 7)
            earned.append(f"net present value {worth}")
        if case.get("internal_rate") is not None:
            earned.append(f"internal rate {words.percent(case['internal_rate'])}")
    return (
        Cell(str(case["case"]), note=str(case.get("description", ""))),
        Cell(str(case["status"]), note=str(case["reason"] or "")),
        Cell(goal, is_number=True),
        Cell(saved, note=", ".join(earned), is_number=True),
    )


def least_slack(run: Run, count: int) -> list[str]:
    """Return the limits that hold with the least slack, as lines."""
    lines = []
    for found in certify.least_slack(run.certificate, count):
        slack = f"Slack of {words.quantity(found.slack, found.unit, 4)}"
        at = f" ({_OFFSET.sub('', found.where).replace('T', ' ')})" if found.where else ""
        lines.append(f"{'Active' if found.at_limit else slack}: {found.title}{at}")
    return lines


def _is_check(item: Any) -> bool:
    return isinstance(item, Mapping) and isinstance(item.get("worst"), Mapping)


def violations(run: Run) -> list[Finding]:
    """Return what must hold and does not, with the words of the text that each rests on."""
    quotes: dict[str, str] = {}
    for level in run.part("levels").values():
        for check in map(mapping, sequence(mapping(level).get("checks"))):
            quotes[str(check.get("id"))] = str(check.get("quote") or "")
    return [
        _violation(item, str(item.get("quote") or quotes.get(str(item.get("check")), "")))
        for item in map(mapping, _entries(run, "violations"))
    ]


def listed(run: Run, key: str) -> list[Finding]:
    """Return what the certificate lists: ``missing``, ``contradictions``, ``not_understood``."""
    return [_finding(item) for item in _entries(run, key)]


def open_points(run: Run) -> list[Finding]:
    """Return what of the text is open in the reading, besides sentences nobody understood."""
    known = [finding.text for finding in listed(run, "not_understood")]
    left = sequence(run.part("reading").get("open"))
    return [_finding(item) for item in left if not any(text in str(item) for text in known)][:MOST]


def _entries(run: Run, key: str) -> list[Any]:
    return list(sequence(run.certificate.get(key, run.record.get(key))))[:MOST]


def _tolerance(value: Any, unit: Any) -> str:
    if isinstance(value, str):
        return value
    return "–" if value is None else words.quantity(value, unit, 4)


def place(where: Any) -> str:
    """Return the place of a row: the elements of its sets."""
    if isinstance(where, Mapping):
        return ", ".join(str(label).replace("T", " ") for label in where.values())
    return "" if where is None else str(where)


def _violation(item: Mapping[str, Any], quote: str) -> Finding:
    name = str(item.get("name") or item.get("check") or "a check")
    message = str(item.get("message") or "")
    level = f" [{item['level']}]" if item.get("level") else ""
    if name in message or (quote and " ".join(quote.split()) in message):
        # A message that names its check says the rest as well.
        return Finding(f"{message}{level}", "" if quote and quote in message else quote)
    where, by = place(item.get("where")), ""
    if "amount" in item:
        by = f", by {words.quantity(item['amount'], item.get('unit'), 4)}"
        if item.get("tolerance") is not None:
            by += f" (tolerance {_tolerance(item['tolerance'], item.get('unit'))})"
    at = f" at {where}" if where else ""
    return Finding(f"{name}{at}{by}{f': {message}' if message else ''}{level}", quote)


def _finding(item: Any) -> Finding:
    """Return an entry that may be a sentence or an object with a quote and a message."""
    if not isinstance(item, Mapping):
        return Finding(str(item))
    quote = next((str(item[k]) for k in ("quote", "sentence", "text") if item.get(k)), "")
    message = ": ".join(str(item[k]) for k in ("name", "message", "reason", "hint") if item.get(k))
    return Finding(message or quote, quote if message else "")


# --- why there is no plan, or which limits are in force -------------------------------------------


@dataclass(frozen=True)
class Account:
    """An explanation: a heading, a sentence, and groups of lines, each with what belongs to it.

    ``kind`` is ``plan``, or why there is none; ``enough`` are changes of which each is enough for
    a plan, confirmed by a solve.
    """

    title: str
    summary: str
    groups: tuple[tuple[str, list[list[str]]], ...]
    kind: str
    enough: tuple[str, ...]


def explanation(run: Run) -> Account | None:
    """Return the explanation of a run; None where there is none to show or it is unreadable."""
    path = run.folder / EXPLANATION
    if not path.is_file():
        return None
    try:
        found = Explanation.from_dict(loads_strict(path.read_text("utf-8"), EXPLANATION))
    except (EngiagentError, OSError, UnicodeDecodeError):
        return None
    groups: list[tuple[str, list[list[str]]]] = []
    for line in lines_of(found) if found.kind in _TITLES else ():
        text = line.text.removeprefix("- ")
        if line.depth == 0:
            groups.append((f"{text[:1].upper()}{text[1:]}", []))
        elif line.depth == 1:
            groups[-1][1].append([text])
        else:
            groups[-1][1][-1].append(text)
    if not groups:
        return None
    cut = tuple((title, lines[:_MOST_LINES]) for title, lines in groups)
    # Of a plan the summary is the first of its limits, or that there is none.
    summary = "" if found.kind == "plan" and found.tight else found.summary
    enough = tuple(proposal.text for proposal in found.proposals if proposal.verified)
    return Account(_TITLES[found.kind], summary, cut, found.kind, enough)
