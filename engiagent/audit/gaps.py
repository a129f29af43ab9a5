"""What a problem does not give: values, series, files, columns, horizon, objective, limits."""

import difflib
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from engiagent.agents.offline import Understanding
from engiagent.agents.offline.cards import lexicon
from engiagent.agents.offline.draft import Draft
from engiagent.agents.offline.results import Missing
from engiagent.audit.evidence import Evidence
from engiagent.audit.findings import Finding
from engiagent.audit.tables import absence_words, ranges
from engiagent.explain.places import Place, Span, Text
from engiagent.tabular import SUFFIXES

if TYPE_CHECKING:
    from engiagent.problems import Problem

_FILE: Final = re.compile(
    r"(?<![\w./\\-])[\w-][\w./-]*?(?:" + "|".join(re.escape(s) for s in SUFFIXES) + r")(?![\w-])",
    re.I,
)
_CODE: Final = re.compile(r"`([A-Za-z_][\w .]*)`")
_PLAIN: Final = re.compile(
    r"the|its|their|this|that|our|an?|of|for|on|in|at|contracted|agreed|allowed|given"
)
_SPECIAL: Final = {
    ("time", "periods"): ("missing-horizon", "say how many periods of what length are planned"),
    ("objective", "sense"): ("missing-objective", "say what is to be minimised or maximised"),
}


def missing_values(
    found: Understanding, text: Text, evidence: Evidence, unknown: Sequence[str] = ()
) -> Iterator[Finding]:
    """Yield what the engine needs, the text does not give, and nothing unread could give.

    Parameters
    ----------
    unknown
        Nouns of which the text says itself that their values are not known.
    """
    for item in found.analysis.missing:
        if not _is_missing(found, item, evidence, unknown):
            continue
        code, advice = _SPECIAL.get((item.component, item.slot), ("missing-value", ""))
        said, _, suggestion = item.message.partition("; ")
        yield Finding(
            code=code,
            severity="missing",
            component=item.component,
            quantity=item.slot.rpartition(".")[2],
            explanation=said,
            suggestion=advice or suggestion or "add it to the text",
            places=text.spans(_mentions(found, item)),
        )


def open_values(
    found: Understanding, evidence: Evidence, unknown: Sequence[str] = ()
) -> Iterator[str]:
    """Yield what the engine did not find and what could stand where it understood nothing."""
    for item in found.analysis.missing:
        if not _is_missing(found, item, evidence, unknown) and not _twice(found, item):
            yield (
                f"{item.message.partition('; ')[0]} in what was understood; "
                "a sentence that was not understood may give it"
            )


def _is_missing(
    found: Understanding, item: Missing, evidence: Evidence, unknown: Sequence[str]
) -> bool:
    """Whether nothing that was not understood could be what the engine misses."""
    # Of a problem in which nothing is recognised, nobody here knows what it needs.
    if item.component == "problem" or _twice(found, item):
        return False
    if item.component == "time":
        modelled = bool({"battery", "zone"} & found.owners.present)
        return modelled and not evidence.tells_time()
    if item.component == "objective":
        return not evidence.asks()
    quantity = absence_words().quantity(item.slot.rpartition(".")[2])
    said_unknown = any(quantity.names.search(noun) for noun in unknown)
    if said_unknown and _only(found, item):
        return True
    # Without the objective nobody knows which prices count.
    goal = all(m.component != "objective" for m in found.analysis.missing)
    needed = goal or "price" not in item.slot
    return needed and evidence.familiar and not evidence.could_give(quantity)


def _only(found: Understanding, item: Missing) -> bool:
    """Whether a quantity that is said to be unknown can be that of one component only."""
    quantity = absence_words().quantity(item.slot.rpartition(".")[2])
    return {
        other.component
        for other in found.analysis.missing
        if absence_words().quantity(other.slot.rpartition(".")[2]) is quantity
    } == {item.component}


def _twice(found: Understanding, item: Missing) -> bool:
    """Whether a value is not missing but given in two ways."""
    return any(
        (c.component, c.quantity) == (item.component, item.slot)
        for c in found.analysis.conflicts
        if c.code == "two-values"
    )


def _mentions(found: Understanding, item: Missing) -> list[Span]:
    """Return where the text first speaks of a component."""
    kinds = found.owners.names
    pattern = next((names[item.component] for names in kinds.values() if item.component in names),
                   None)  # fmt: skip
    card = lexicon().cards.get(item.component)
    if pattern is None and card is None:
        kind = next((k for k in lexicon().cards if item.component.endswith(k)), None)
        card = lexicon().cards["heater" if item.component == "heat_pump" else kind or "grid"]
        if kind is None and item.component != "heat_pump":
            return []
    pattern = pattern or (card.nouns if card is not None else None)
    for line in found.draft.lines:
        match = pattern.search(line.line) if pattern is not None else None
        if match is not None and line.sentence.passage >= 0 and not line.sentence.is_heading:
            tokens = [line.tokens[i] for i in line.covered(*match.span())]
            return [(tokens[0].span[0], tokens[-1].span[1])]
    return []


# --- files and columns -----------------------------------------------------------------------


def missing_files(problem: "Problem", text: Text) -> Iterator[Finding]:
    """Yield the data files that the text names and that do not lie beside it."""
    seen: set[str] = set()
    for match in _FILE.finditer(problem.text, problem.body_start):
        name = match[0]
        known = name in problem.data or (problem.folder / name).is_file()
        if known or name in seen or name == problem.path.name:
            continue
        seen.add(name)
        beside = sorted(p.name for p in problem.folder.iterdir() if p.suffix.lower() in SUFFIXES)
        close = difflib.get_close_matches(name, beside, 1)
        hint = f"; did you mean {close[0]}?" if close else ""
        yield Finding(
            code="missing-file",
            severity="missing",
            component="data",
            quantity=name,
            explanation=f"the file {name} does not lie beside the problem",
            suggestion=f"put it there{hint}",
            places=(text.at(match.span()),),
        )


def missing_columns(found: Understanding, problem: "Problem", text: Text) -> Iterator[Finding]:
    """Yield names in code marks that stand beside a file or a column and are neither."""
    known = {
        name.lower()
        for file in problem.data.values()
        for column in file.columns.values()
        for name in (column.name, column.header)
    }
    listed = [c.header for file in problem.data.values() for c in file.columns.values()]
    files = {name.lower() for name in problem.data}
    if not files or found.analysis.complete:
        return
    for line in found.draft.lines:
        start, end = line.sentence.span
        names = list(_CODE.finditer(problem.text, start, end))
        words = {m[1].strip().lower() for m in names}
        beside = words & (known | files) or _FILE.search(problem.text, start, end)
        for match in names if beside else ():
            name = match[1].strip()
            if name.lower() in files or _FILE.fullmatch(name) or _is_column(name, known):
                continue
            close = difflib.get_close_matches(name, listed, 1)
            hint = f"; did you mean {close[0]}?" if close else ""
            yield Finding(
                code="missing-column",
                severity="missing",
                component="data",
                quantity=name,
                explanation=f"no data file has a column {name}",
                suggestion=f"the columns are {', '.join(listed)}{hint}",
                places=(text.at(match.span()),),
            )


def _is_column(name: str, known: set[str]) -> bool:
    """Whether a name is that of a column, or the beginning of just one as far as a word goes."""
    wanted = name.lower()
    longer = [k for k in known if k.startswith((f"{wanted}_", f"{wanted} "))]
    return wanted in known or len(longer) == 1


def short_series(
    found: Understanding, problem: "Problem", text: Text, evidence: Evidence
) -> Iterator[Finding]:
    """Yield series that end before the horizon does, and those that go on beyond it.

    Where something was not understood, a series may be of other things than the horizon's.
    """
    if evidence.unread or evidence.columns:
        return
    for conflict in found.analysis.conflicts:
        if conflict.code not in ("shorter", "longer") or _asks(found.draft, conflict.spans):
            continue
        files = tuple(
            Place(name, file.rows + 1, None, f"{file.rows} rows")
            for name, file in problem.data.items()
        )
        short = conflict.code == "shorter"
        yield Finding(
            code="series-too-short" if short else "series-too-long",
            severity="missing" if short else "suspicious",
            component="data",
            quantity="periods",
            explanation=conflict.message,
            suggestion="complete the series, or correct the horizon"
            if short
            else "say which part of the series counts, or correct the horizon",
            places=(*text.spans(conflict.spans), *files),
        )


def _asks(draft: Draft, spans: tuple[Span, ...]) -> bool:
    """Whether a length is one that the text demands, as 'for at least two hours at a time'."""
    demands = lexicon().scope["requirement"]
    return any(
        demands.search(line.line)
        for line in draft.lines
        for start, end in spans
        if line.sentence.span[0] <= start and end <= line.sentence.span[1]
    )


# --- demands on what nobody gives -----------------------------------------------------------------


def unknown_limits(
    found: Understanding, problem: "Problem", text: Text, evidence: Evidence
) -> Iterator[Finding]:
    """Yield demands that refer to a limit, budget, setpoint … of which no value is given."""
    draft = found.draft
    if found.analysis.complete:
        return  # every demand found its value
    demands = lexicon().scope["requirement"]
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines:
            continue
        if any(t.amount is not None or t.kind == "list" for t in line.tokens):
            continue
        if demands.search(line.line) is None:
            continue
        for pattern in (ranges().reference, ranges().referred):
            match = pattern.search(line.line)
            noun = match["noun"] if match is not None else ""
            # "Its limit" may be anything that was not understood.
            bare = len(noun.split()) < 2 and bool(evidence.unread)
            if not noun or bare or _is_given(draft, problem, n, noun):
                continue
            yield Finding(
                code="unknown-limit",
                severity="missing",
                component="requirement",
                quantity=noun,
                explanation=f"the text asks for something about the {noun}, and nobody gives it",
                suggestion=f"say what the {noun} is, as a number with its unit or as a column",
                places=(text.at(line.sentence.span),),
            )
            break


def _is_given(draft: Draft, problem: "Problem", here: int, noun: str) -> bool:
    """Whether some other sentence, table or column gives a value under the same words."""
    words = [w for w in re.findall(r"[a-z-]{3,}", noun) if not _PLAIN.fullmatch(w)]
    for n, line in enumerate(draft.lines):
        shown = line.line + " " + line.sentence.heading.lower()
        valued = any(t.amount is not None or t.kind in ("list", "period") for t in line.tokens)
        if n != here and valued and all(_stem(word) in shown for word in words[:-1] or words):
            return True
    columns = " ".join(
        c.header.lower().replace("_", " ") for f in problem.data.values() for c in f.series
    )
    headers = " ".join(c.text.lower() for t in problem.tables for c in t.header)
    return any(_stem(word) in columns + " " + headers for word in words)


def _stem(word: str) -> str:
    return word.removesuffix("s").removesuffix("e")
