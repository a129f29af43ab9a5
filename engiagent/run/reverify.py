"""A stored certificate against one made again from the stored inputs, and what exactly differs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from engiagent.io.jsontext import dumps_canonical
from engiagent.verify.certificate import read_certificate, seal_of
from engiagent.verify.schema import SEAL

ROUNDING: Final = 1e-9
"""How far numbers of a sealed certificate may lie apart, relative to them: another processor or
another numpy adds in another order."""
MOST_SHOWN: Final = 60


@dataclass(frozen=True)
class Difference:
    """A place in which two certificates say different things."""

    place: str  # JSON path, as ``$.objective.value``
    # stored, found: what the stored certificate says and what the check says now; None for nothing
    stored: Any
    found: Any
    # whether the certificate holds all the same: other versions, or rounding under a whole seal
    allowed: bool = False

    def __str__(self) -> str:
        return f"{self.place}: the certificate says {_short(self.stored)}, now {_short(self.found)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the difference as JSON."""
        return {
            "place": self.place,
            "stored": self.stored,
            "found": self.found,
            "allowed": self.allowed,
        }


def compare(text: str, again: Mapping[str, Any], file: str) -> tuple[Difference, ...]:
    """Return where a stored certificate and one that was made again differ.

    ``text``: the stored certificate. ``again``: the one made from the inputs as they are now, as
    :meth:`~engiagent.verify.Certificate.to_dict` returns it. ``file``: what to call the stored one
    in messages. Raises InputError when the stored one is no certificate.
    """
    stored = read_certificate(text, file)
    found = []
    content = {key: value for key, value in stored.items() if key != SEAL}
    sealed = stored[SEAL] == seal_of(content)
    if not sealed:
        found.append(Difference(f"$.{SEAL}", stored[SEAL], seal_of(content)))
    if text != dumps_canonical(stored):
        found.append(Difference("$", "another layout", "the canonical form"))
    now = {key: value for key, value in again.items() if key != SEAL}
    found += _differing(content, now, "$", sealed)
    return tuple(found)


def _differing(stored: Any, now: Any, place: str, sealed: bool) -> Iterator[Difference]:
    if isinstance(stored, Mapping) and isinstance(now, Mapping):
        for key in dict.fromkeys([*stored, *now]):
            inner = f"{place}.{key}" if key.isidentifier() else f"{place}[{key!r}]"
            yield from _differing(stored.get(key), now.get(key), inner, sealed)
    elif isinstance(stored, list) and isinstance(now, list) and len(stored) == len(now):
        for k, (one, two) in enumerate(zip(stored, now, strict=True)):
            yield from _differing(one, two, f"{place}[{k}]", sealed)
    elif type(stored) is not type(now) or stored != now:
        allowed = place.startswith("$.versions") or (sealed and _rounding(stored, now))
        yield Difference(place, stored, now, allowed)


def _rounding(one: Any, two: Any) -> bool:
    if not isinstance(one, float) or not isinstance(two, float):
        return False
    return abs(one - two) <= ROUNDING * max(1.0, abs(one), abs(two))


def _short(value: Any) -> str:
    text = "nothing" if value is None else dumps_canonical(value).strip()
    text = " ".join(text.split())
    return text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 1] + "…"
