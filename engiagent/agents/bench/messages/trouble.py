"""What goes wrong with servers and replies, before the right answer comes."""

from collections.abc import Mapping
from typing import Final

from engiagent.agents.bench.messages.server import Json, Say, Script, kind_of

SOON: Final = (("retry-after", "0.05"),)
CALM: Final = "none"
TROUBLES: Final[Mapping[str, Say | None]] = {
    CALM: None,
    "429": Say(status=429, headers=SOON, error="slow down"),
    "529": Say(status=529, headers=SOON, error="overloaded"),
    "dropped stream": Say("x" * 900, broken_after=450),
    "refusal": Say("", stop="refusal"),
    "truncated": Say('{"sufficiency": "comp', stop="max_tokens"),
    "malformed": Say("I would say that it is complete."),
}
"""By name; each is the answer to the first question that is asked."""


class Troubled:
    """A scripted model behind a server that fails once at each kind of question."""

    def __init__(self, script: Script, trouble: Say | None) -> None:
        self.script, self.trouble = script, trouble
        self.met: set[str] = set()

    def __call__(self, request: Json, number: int) -> Say:
        """Return the trouble the first time, then what the model says."""
        kind = kind_of(request)
        if self.trouble is None or kind in self.met:
            return self.script(request, number)
        self.met.add(kind)
        return self.trouble
