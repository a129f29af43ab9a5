"""The settings there are: which option each stands for, and what it may be."""

from dataclasses import dataclass
from typing import Any, Final, Literal

from engiagent.errors import InputError

Kind = Literal["number", "count", "text", "flag"]
Value = float | int | str | bool
PREFIX: Final = "ENGIAGENT_"
_YES: Final = ("1", "true", "yes", "on")
_NO: Final = ("0", "false", "no", "off")
_EXAMPLE: Final = {
    "number": "a number",
    "count": "a whole number",
    "text": "a text in quotes",
    "flag": "true or false",
}


@dataclass(frozen=True)
class Setting:
    """One setting.

    Attributes
    ----------
    section, name
        Where it stands in a file; the name is also that of the option's value.
    kind
        What it is.
    said
        What it does, and its unit.
    own
        Whether only the user's own file and the environment may give it, since a folder from
        elsewhere must not.
    """

    section: str
    name: str
    kind: Kind
    said: str
    own: bool = False

    @property
    def variable(self) -> str:
        """The environment variable that gives it."""
        return PREFIX + self.name.upper()

    @property
    def option(self) -> str:
        """The option that it stands for."""
        return "--" + self.name.replace("_", "-")

    def of_toml(self, value: Any, file: str, line: int | None) -> Value:
        """Return a value from a file.

        Raises
        ------
        InputError
            When it is of another kind.
        """
        whole = isinstance(value, int) and not isinstance(value, bool)
        fits = {
            "number": whole or isinstance(value, float),
            "count": whole,
            "text": isinstance(value, str),
            "flag": isinstance(value, bool),
        }[self.kind]
        if not fits:
            raise InputError(
                f"{self.section}.{self.name} is of the wrong kind",
                file,
                line,
                found=repr(value),
                expected=_EXAMPLE[self.kind],
            )
        result: Value = value
        return result

    def of_text(self, text: str) -> Value:
        """Return a value from the environment.

        Raises
        ------
        InputError
            When the text says none of its kind.
        """
        try:
            if self.kind == "flag":
                return _YES.index(text.lower()) >= 0 if text.lower() in _YES else _no(text)
            if self.kind == "text":
                return text
            return int(text) if self.kind == "count" else float(text)
        except ValueError:
            raise InputError(
                f"{self.variable} is of the wrong kind",
                found=repr(text),
                expected=_EXAMPLE[self.kind],
            ) from None


def _no(text: str) -> bool:
    if text.lower() not in _NO:
        raise ValueError(text)
    return False


SETTINGS: Final = (
    Setting("engine", "engine", "text", "who reads a problem: offline or anthropic"),
    Setting("engine", "model", "text", "which language model answers"),
    Setting("engine", "base_url", "text", "the server that is asked", own=True),
    Setting("engine", "prices", "text", "a file of what tokens cost"),
    Setting("engine", "exemplars", "count", "how many solved problems to show it"),
    Setting(
        "engine", "coordination", "text", "whether any agent may follow any other: full, fixed"
    ),
    Setting("engine", "no_verifier", "flag", "nobody holds the blueprint against the text"),
    Setting("budget", "max_cost", "number", "of all replies of a run [USD]"),
    Setting("budget", "max_tokens", "count", "of all prompts and replies of a run"),
    Setting("budget", "max_minutes", "number", "of a run, solver included [min]"),
    Setting("solver", "backend", "text", "the solver, as highs, scip or pyomo:ipopt"),
    Setting("solver", "time_limit", "number", "wall-clock limit of a solve [s]"),
    Setting("solver", "memory_limit", "number", "beyond the process itself [MB]"),
    Setting("solver", "gap", "number", "relative gap that ends a branch and bound"),
    Setting("solver", "threads", "count", "the most threads to use"),
    Setting("solver", "seed", "count", "of the solver's random choices"),
    Setting("solver", "speed", "flag", "let a faster method answer, with a larger proven gap"),
    Setting("proofs", "exact", "flag", "also check in rational arithmetic"),
    Setting("proofs", "second_solver", "text", "who also solves what is stated"),
    Setting("output", "quiet", "flag", "say nothing but errors"),
    Setting("output", "verbose", "flag", "tell every stage as it goes"),
    Setting("output", "explain", "flag", "print which solver was chosen, and why"),
)
"""An option given on the command line always wins."""
