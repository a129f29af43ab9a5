"""What is known of an air handler while its model is built."""

from dataclasses import dataclass, field

from engiagent.agents.offline.claims.facts import Facts


@dataclass
class Air:
    """What is known of an air handler, as expressions over the periods."""

    facts: Facts
    back: str = ""
    out: str = ""
    room: str | None = None
    supply: str = ""
    low: str = ""
    high: str = ""
    most: str = ""
    warmest: str = ""
    costs: list[str] = field(default_factory=list)
    boxes: tuple[str, ...] = ()


def price_of(facts: Facts, claim: str, parameter: str, description: str) -> str | None:
    """Return a price as a term of an expression over the periods."""
    made = facts.series(claim, None, parameter, description)
    return None if made is None else facts.builder.at(made)


def unit_of(air: Air, name: str) -> str:
    """Return the unit of a parameter."""
    return str(next(p for p in air.facts.builder.parameters if p["name"] == name)["unit"])
