"""Hours without the grid: when it fails, who comes when, and that it gives nothing till then."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from engiagent.agents.offline.draft import Draft
from engiagent.agents.offline.phrases import relined
from engiagent.agents.offline.timing import Axis
from engiagent.agents.offline.tokens import Line, Token

_THING: Final = r"(?:the |our |this )(?:[a-z]+ ){0,2}?[a-z]+"
_FAILS: Final = re.compile(
    rf"(?:(?:an?|the) (?:[a-z]+ )?[a-z]+ (?:has |had )?(?:cut off|disconnected|separated) {_THING}"
    r"(?: from the (?:public )?(?:grid|mains|network))?"
    r"|(?:the )?(?:grid|mains|public supply|power) (?:failed|fails|went down|is lost|has failed)"
    rf"|{_THING} (?:is|has been|was) (?:without (?:the grid|power|mains)"
    r"|cut off(?: from the grid)?))"
    r" (?:at|since|from) <(?:clock|period_open)#(?P<at>\d+)>(?: (?:on|of) <date#\d+>)?"
)
_COMES: Final = re.compile(
    r"(?:,? ?(?:and|but) )?(?:the |an? |our )(?P<who>[a-z]+) (?:will be|will arrive|will come"
    r"|arrives|comes|is expected|is due|will be back|can be)(?: there| here| back| on site)?"
    r" (?:only )?(?:at|by) <clock#(?P<at>\d+)>"
)
_UNTIL: Final = re.compile(r"^(?:until|till|up to) then(?: ,)?")


def take_outage(draft: Draft, axis: Axis | None) -> list[int]:
    """Return the lines that say that there is no grid in the whole horizon.

    What then comes at the end of the horizon names it from there on: 'when the crew arrives' is
    that time.
    """
    if axis is None:
        return []
    found: list[int] = []
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines:
            continue
        fails, comes = _FAILS.search(line.line), _COMES.search(line.line)
        until = _UNTIL.match(line.line) if found and found[-1] == n - 1 else None
        if until is not None:
            draft.take(n, list(line.covered(*until.span())))
        if fails is None or not _is(line, fails["at"], axis.start_clock):
            continue
        if comes is not None and not _is(line, comes["at"], axis.end_clock % 24):
            continue
        found.append(n)
        draft.take(n, list(line.covered(*fails.span())))
        if comes is not None:
            draft.take(n, list(line.covered(*comes.span())))
            _name_end(draft, n, comes, line.tokens)
    return found


def _is(line: Line, place: str, clock: float) -> bool:
    said = line.tokens[int(place)].clock
    return said is not None and abs(said % 24 - clock) < 1e-9


def _name_end(draft: Draft, n: int, comes: re.Match[str], tokens: Sequence[Token]) -> None:
    """Put the time in place of 'when the crew arrives' in the lines that follow."""
    who = re.escape(comes["who"])
    named = re.compile(
        rf"(?:when|once|as soon as|by the time) the {who} (?:arrives|comes|gets there|is there"
        r"|has arrived|is back)|(?:at|on|by) the arrival of the (?:"
        rf"{who})"
    )
    clock = tokens[int(comes["at"])]
    for k in range(n + 1, len(draft.lines)):
        line = draft.lines[k]
        match = named.search(line.line)
        if match is None:
            continue
        covered = line.covered(*match.span())
        span = (line.tokens[covered[0]].span[0], line.tokens[covered[-1]].span[1])
        token = replace(clock, text="at the end", span=span)
        made = [*line.tokens[: covered[0]], token, *line.tokens[covered[-1] + 1 :]]
        draft.lines[k] = relined(line, made)
