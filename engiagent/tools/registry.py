"""What a tool is: a typed function on a session's state, with its class, its needs and its schema.

One table, :data:`REGISTRY`, feeds everybody who calls tools: agents, programs and servers.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal

from engiagent.errors import EngiagentError, InputError
from engiagent.io.files import write_atomic
from engiagent.io.schemawords import fields, kind_of, record

Access = Literal["read", "write"]
Part = str
"""The name of something that a session holds; see :func:`declare_part`."""

Json = dict[str, Any]


def shape(
    text: str, words: Mapping[str, Json] = MappingProxyType({}), *, more: bool = False
) -> Json:
    """Return the schema of an answer in a line: ``names: kind; other?: kind``.

    The kinds are those of :func:`engiagent.io.schemawords.fields`, and ``words``.
    """
    groups = (group.partition(": ") for group in text.split("; "))
    lines = [f"{name}: {kind}" for names, _, kind in groups for name in names.split()]
    return record(*fields("\n".join(lines), words), more=more)


@dataclass(frozen=True)
class Made:
    """A part of a state: what it is, which call made it, and from which versions of the others."""

    value: Any
    call: int
    basis: Mapping[Part, int] = field(default_factory=dict)


@dataclass
class Later:
    """A part of a stored session, read when it is first asked for."""

    read: Callable[[], Any]

    @cached_property
    def found(self) -> Any:
        """The part."""
        return self.read()


@dataclass(frozen=True)
class Watch:
    """What a caller does while a call works: listens to how far it has come, and may stop it."""

    said: Callable[[float, str], None] | None = None  # hears seconds and a line
    cancel: threading.Event | None = None

    def tell(self, text: str) -> None:
        """Tell how far a call has come; end it when its caller has stopped it."""
        if self.said is not None:
            self.said(0.0, text)
        if self.cancel is not None and self.cancel.is_set():
            raise EngiagentError("the call was stopped")


@dataclass(frozen=True)
class State:
    """What a session knows of its folder ``root``; a tool changes none and returns another one.

    ``watch`` is of the call that is under way.
    """

    root: Path
    parts: Mapping[Part, Made] = field(default_factory=dict)
    watch: Watch = Watch()

    def get(self, part: Part) -> Any:
        """Return a part."""
        if part not in self.parts:
            first = PARTS[part].maker
            raise InputError(f"there is no {part} yet", expected=f"a call of {first} first")
        value = self.parts[part].value
        return value.found if isinstance(value, Later) else value

    def has(self, part: Part) -> bool:
        """Whether there is a part, of whatever age."""
        return part in self.parts

    def stale(self, part: Part) -> bool:
        """Whether a part was made from others that have changed since."""
        made = self.parts.get(part)
        if made is None:
            return False
        return any(
            other not in self.parts or self.parts[other].call != call or self.stale(other)
            for other, call in made.basis.items()
        )


@dataclass(frozen=True)
class Held:
    """What is declared of a part: the tool that makes it, and the parts that a new one drops.

    ``save`` writes it into a folder, from which ``load`` reads it; without them the call that made
    it is made again when a stored session is opened.
    """

    maker: str
    drops: tuple[Part, ...] = ()
    save: Callable[[Any, Path], None] | None = None
    load: Callable[[Path], Any] | None = None

    @classmethod
    def text(
        cls, maker: str, file: str, write: Callable[[Any], str], read: Callable[[str], Any]
    ) -> "Held":
        """Return what is declared of a part that is stored as the text of a file."""
        return cls(
            maker,
            save=lambda value, folder: write_atomic(folder / file, write(value)),
            load=lambda folder: read((folder / file).read_text("utf-8")),
        )


PARTS: Final[dict[Part, Held]] = {}
"""What a session can hold, declared by the modules whose tools make it."""


def declare_part(name: Part, held: Held) -> None:
    """Declare a part of sessions."""
    if name in PARTS:
        raise ValueError(f"there are two parts called {name}")
    PARTS[name] = held


_LIMITS: Final = {"minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most"}
_LIMITS["exclusiveMaximum"] = "below"


@dataclass(frozen=True)
class Argument:
    """One argument of a tool; ``schema`` is that of its value, without unit and words."""

    name: str
    schema: Json
    description: str
    unit: str | None = None
    required: bool = False

    def to_schema(self) -> Json:
        """Return its JSON Schema, with the unit as an annotation and in words."""
        said = self.description if self.unit is None else f"{self.description} [{self.unit}]"
        unit = {} if self.unit is None else {"x-unit": self.unit}
        return {**self.schema, "description": said, **unit}

    def said(self) -> str:
        """Return its name with what it may be, in words."""
        unit = "" if self.unit in (None, "1") else f" [{self.unit}]"
        ranged: Json = self.schema.get("anyOf", [self.schema])[0]
        limits = "".join(f", {w} {ranged[key]:g}" for key, w in _LIMITS.items() if key in ranged)
        more = "" if "enum" in self.schema else f"; {self.description}"
        return f"{self.name}: {kind_of(self.schema)}{unit}{limits}{more}"


def needed(name: str, schema: Json, description: str) -> Argument:
    """Return an argument that has to be given."""
    return Argument(name, schema, description, required=True)


@dataclass(frozen=True)
class Outcome:
    """What a tool did: what the caller sees, as JSON, and the parts of the state that are new.

    ``artefacts`` are the files that it wrote, below the session's folder.
    """

    content: Json
    makes: Mapping[Part, Any] = field(default_factory=dict)
    artefacts: tuple[str, ...] = ()


Work = Callable[[State, Json], Outcome]


@dataclass(frozen=True)
class Tool:
    """A typed function on a session's state, with its rule and four hints."""

    name: str
    access: Access  # ``write`` when it changes the session's state or files, else ``read``
    description: str
    work: Work
    returns: Json  # JSON Schema of its answer
    arguments: tuple[Argument, ...] = ()
    needs: tuple[Part, ...] = ()  # its rule: what has to be there and up to date before it
    uses: tuple[Part, ...] = ()  # what it works from where it is there
    outside: bool = False  # its answer depends on more than state and arguments, as on files
    repeatable: bool = True  # a second call with the same arguments changes nothing more
    destructive: bool = False  # it may replace files that were there before
    open_world: bool = False  # it deals with anything beyond the session, as a network
    group: str = ""  # with which others it belongs, as ``problem`` or ``hvac``
    instead: str | None = None  # the argument that names what it works on in place of its needs
    writes: tuple[Part, ...] = ()  # the parts that it may make

    @property
    def reads(self) -> tuple[Part, ...]:
        """The parts that its answer depends on."""
        return tuple(dict.fromkeys([*self.needs, *self.uses]))

    def for_call(self, arguments: Json) -> "Tool":
        """Return it with the rule that holds for some arguments."""
        return replace(self, needs=()) if self.instead in arguments else self

    def schema(self) -> Json:
        """Return the JSON Schema (draft 2020-12) of its arguments."""
        return {
            "type": "object",
            "properties": {a.name: a.to_schema() for a in self.arguments},
            "required": [a.name for a in self.arguments if a.required],
            "additionalProperties": False,
        }

    def checked(self, arguments: Any) -> Json:
        """Return arguments that are as the schema has them."""
        from jsonschema import Draft202012Validator

        error = next(Draft202012Validator(self.schema()).iter_errors(arguments), None)
        known = {argument.name: argument for argument in self.arguments}
        unknown = [name for name in arguments if name not in known]
        if unknown:
            close = get_close_matches(unknown[0], known, n=1)
            expected = ", ".join(known) or "none"
            expected = f"{close[0]!r}, of {expected}" if close else expected
            raise InputError(f"{self.name} has no argument {unknown[0]!r}", expected=expected)
        if error is not None:
            place = "".join(f".{step}" for step in error.absolute_path)
            named = [str(step) for step in error.absolute_path][:1]
            meant = named or [name for name, argument in known.items() if argument.required]
            expected = "; ".join(known[name].said() for name in meant if name in known)
            said = f"{self.name}{place}: {error.message[:300]}"
            raise InputError(said, expected=expected or None)
        return dict(arguments)


REGISTRY: Final[dict[str, Tool]] = {}


def tool(
    access: Access,
    *arguments: Argument,
    returns: Json,
    needs: tuple[Part, ...] = (),
    uses: tuple[Part, ...] = (),
    name: str | None = None,
    group: str | None = None,
    about: str | None = None,
    **hints: Any,
) -> Callable[[Work], Work]:
    """Register a function as a tool.

    ``name`` is by default the function's, ``about`` its docstring and ``group`` what its module
    states as ``GROUP``; ``hints`` are the flags of a :class:`Tool` that differ from their defaults.
    """

    def register(work: Work) -> Work:
        known = name or work.__name__
        if known in REGISTRY:
            raise ValueError(f"there are two tools called {known}")
        REGISTRY[known] = Tool(
            known,
            access,
            " ".join((about or work.__doc__ or "").split()),
            work,
            returns,
            arguments,
            needs,
            uses,
            group=group or str(work.__globals__["GROUP"]),
            **hints,
        )
        return work

    return register


def tools() -> Mapping[str, Tool]:
    """Return all tools by name."""
    # They register themselves.
    from engiagent.tools import files, modelling, planning, studies  # noqa: F401
    from engiagent.tools.asset import diagnosis, history, modes, orders, repairs, series, synthetic  # noqa: F401
    from engiagent.tools.grid import flows, maps, plans  # noqa: F401
    from engiagent.tools.market import data, live, money, storage, yields  # noqa: F401
    from engiagent.tools.site import analysing, collecting, configuring, driving, running  # noqa: F401

    return dict(sorted(REGISTRY.items()))


def groups() -> Mapping[str, tuple[str, ...]]:
    """Return the names of the tools by group."""
    found: dict[str, tuple[str, ...]] = {}
    for known in tools().values():
        found[known.group] = (*found.get(known.group, ()), known.name)
    return found
