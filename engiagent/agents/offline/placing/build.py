"""A placement as a blueprint: how much goes where, and what it must keep within."""

from typing import TYPE_CHECKING

from engiagent.agents.offline.assembly import document
from engiagent.agents.offline.builder import Builder
from engiagent.agents.offline.draft import Json, Value
from engiagent.agents.offline.placing.analyse import Head, Placing, quantile
from engiagent.agents.offline.storage import constrain
from engiagent.agents.offline.timing import Axis
from engiagent.blueprint.document import Blueprint

if TYPE_CHECKING:
    from engiagent.problems.problem import Problem

_CAPACITY, _STRATEGY = "Resource Capacity", "Strategic Requirements"


def blueprint_of(problem: "Problem", placing: Placing) -> Blueprint:
    """Return the blueprint of a placement of which everything is said."""
    draft = placing.draft
    builder = Builder(problem, draft, Axis("00:00", 60.0, 1, None, False))
    builder.sets.append({"name": "H", "kind": "labels", "elements": list(placing.labels)})
    names = {role: [_column(builder, placing, head) for head in heads]
             for role, heads in placing.heads.items()}  # fmt: skip
    sigma = names["sigma"][0]
    room = names["room"][0] if "room" in names else None
    main = _limit(builder, placing, "main", "main", "what is left for all together")
    placed: Json = {"name": "placed", "index": ["h in H"], "type": "continuous", "lower": 0}
    upper = f"{room}[h]" if room is not None else main
    placed |= {"upper": upper} if upper is not None else {}
    builder.variables.append(
        placed | {"unit": "kW", "quantity": "place.power", "role": "decision",
                  "description": "nominal power that is placed"}
    )  # fmt: skip
    _together(builder, placing, sigma, main)
    _alone(builder, placing, sigma, room)
    for piece in placing.said.get("budget", ()):
        rate = next(n for n, h in zip(names["rate"], placing.heads["rate"], strict=True)
                    if h.name == piece.of)  # fmt: skip
        amount = draft.lines[piece.line].tokens[piece.numbers["budget"]].amount
        assert amount is not None
        value = Value(amount.unit, draft.source(piece.line, amount), amount.value)
        most = builder.value("budget", value, f"what is left for {piece.of}")
        constrain(builder, piece.of, f"sum({rate}[h]*placed[h] for h in H) <= {most}", _CAPACITY,
                  piece.line)  # fmt: skip
    context = (
        "placement",
        "programme with chance constraints of normal deviations",
        f"{len(builder.sets[0]['elements'])} places",
    )
    made = document(problem, builder, _goal(builder, placing), context)
    return Blueprint.from_dict(made, problem.path.name)


def _column(builder: Builder, placing: Placing, head: Head) -> str:
    value = dict(zip(placing.labels, head.values, strict=True))
    name = {"sigma": "sigma", "room": "room", "rate": "rate"}[head.role]
    return builder.parameter(name, head.unit, head.name, index=["H"], value=value,
                             source_reference=list(head.sources))  # fmt: skip


def _limit(builder: Builder, placing: Placing, name: str, number: str, said: str) -> str | None:
    value = placing.value(name, number)
    return None if value is None else builder.value(name, value, said)


def _deviations(
    builder: Builder, placing: Placing, stated: Value | None, share: Value | None
) -> str:
    """Return how many standard deviations have to fit above a mean; one number stands once."""
    if stated is not None and stated.number is not None:
        known = next((p for p in builder.parameters if p.get("value") == stated.number
                      and str(p["name"]).startswith("deviations")), None)  # fmt: skip
        if known is not None:
            entry = {**stated.source, "reason": "says again what was said before"}
            builder.draft.unused.append({k: entry[k] for k in ("span", "quote", "reason")})
            return str(known["name"])
        return builder.value("deviations", stated, "standard deviations above the mean")
    assert share is not None
    assert share.number is not None
    reason = f"the quantile of the normal distribution at {share.number:g} %"
    return builder.assumed("deviations", quantile(share.number).value, "1",
                           "standard deviations above the mean", reason)  # fmt: skip


def _together(builder: Builder, placing: Placing, sigma: str, main: str | None) -> None:
    """Keep the sum of all places within what is left, with its probability."""
    if main is None:
        return
    line = placing.line("joint")
    z = _deviations(builder, placing, placing.value("jointz", "z"), placing.value("joint", "joint"))
    if placing.has("together"):
        text = f"sum(placed[h]*(1 + {z}*{sigma}[h]) for h in H) <= {main}"
        constrain(builder, "all together", text, _CAPACITY, line)
        return
    mean = "sum(placed[h] for h in H)"
    spread = f"sqrt(sumsq({sigma}[h]*placed[h]/1[kW] for h in H))"
    constrain(builder, "all together", f"{mean} + {z}*1[kW]*{spread} <= {main}", _CAPACITY, line)


def _alone(builder: Builder, placing: Placing, sigma: str, room: str | None) -> None:
    """Keep each place within its own capacity."""
    if room is None:
        return
    name = "each" if placing.has("each") else "eachp"
    z = _deviations(builder, placing, placing.value("each", "own"), placing.value("eachp", "ownp"))
    constrain(builder, "each by itself", f"placed[h]*(1 + {z}*{sigma}[h]) <= {room}[h]",
              _CAPACITY, placing.line(name), ["h in H"])  # fmt: skip


def _goal(builder: Builder, placing: Placing) -> Json:
    """Return the objective: all that is placed, or the least that any place has."""
    source = next(n for n in ("fairly", "ask", "wish") if placing.has(n))
    goal: Json = {"name": "placed", "sense": "maximize", "unit": "kW",
                  "source_reference": builder.draft.quote(placing.line(source))}  # fmt: skip
    if not placing.has("fairly"):
        return goal | {"expression": "sum(placed[h] for h in H)"}
    return goal | {"expression": "min(placed[h] for h in H)"}
