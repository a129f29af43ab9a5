"""A radial feeder as a blueprint: its sections, its balances, its source, and what it costs."""

from typing import TYPE_CHECKING

from engiagent.agents.offline.builder import Builder
from engiagent.agents.offline.draft import Draft, Json
from engiagent.agents.offline.feeders.flows import add_flows, add_voltages
from engiagent.agents.offline.feeders.network import Network, impedance, of_lines
from engiagent.agents.offline.feeders.nodes import add_engine, add_loads, add_weather
from engiagent.agents.offline.goals import Goal, wanted_currency
from engiagent.agents.offline.plant.engine import Reader
from engiagent.agents.offline.results import Missing

if TYPE_CHECKING:
    from engiagent.agents.offline.feeders.analyse import Scene

INTO = "for (i, j) in L if j == n"
OUT = "for (i, j) in L if i == n"


def build(
    scene: "Scene", builder: Builder, reader: Reader, goal: Goal | None, currency: str
) -> Json | None:
    """Add the whole feeder; return the objective."""
    lossy = _scheme(scene.draft, reader)
    if lossy is None:
        scene.draft.doubt(0, "are the losses of the lines counted, or is the flow linear?")
    network = Network(scene, builder, reader, bool(lossy))
    _sets(network)
    add_voltages(network)
    add_flows(network)
    add_loads(network)
    add_weather(network)
    add_engine(network)
    _balances(network)
    _source(network)
    return _objective(network, goal, currency)


def _scheme(draft: Draft, reader: Reader) -> bool | None:
    """Return whether losses are counted; None where that is not said, or both are."""
    said = {fact.name for fact in draft.facts} | set(reader.facts)
    found = {name for name in ("linear_flow", "lossy_flow") if name in said}
    return "lossy_flow" in found if len(found) == 1 else None


def _sets(network: Network) -> None:
    lines, builder = network.scene.lines, network.builder
    sheet = lines.sheet
    first = lines.ends[0]
    source = sheet.source(first)
    builder.sets += [
        {"name": "N", "kind": "labels", "elements": list(lines.nodes), "source_reference": source},
        {"name": "D", "kind": "subset", "of": "N", "binder": "n",
         "where": f"n != '{lines.source}'"},
    ]  # fmt: skip
    pairs: Json = {"name": "L", "kind": "tuples", "of": ["N", "N"], "source_reference": source}
    if sheet.file and len(lines.ends) == 2:
        names = ",".join(sheet.names[c] for c in lines.ends)
        builder.sets.append({**pairs, "data": f"{sheet.file}#{names}"})
    else:
        builder.sets.append({**pairs, "elements": [list(pair) for pair in lines.pairs]})
    for role, said in (("r", "resistance"), ("x", "reactance"), ("length", "length")):
        if role in lines.roles:
            of_lines(network, role, said)


def _balances(network: Network) -> None:
    """Add the balances of active and reactive power at all nodes but the source."""
    arrives = {"P": "P[i, j, t]", "Q": "Q[i, j, t]"}
    if network.lossy:
        r, x = impedance(network, "r"), impedance(network, "x")
        arrives = {"P": f"P[i, j, t] - {r}*l[i, j, t]", "Q": f"Q[i, j, t] - {x}*l[i, j, t]"}
    for flow, terms, said in (("P", network.active, "active"), ("Q", network.reactive, "reactive")):
        given = "".join(f" + {text}" for sign, text in terms if sign == "+")
        taken = "".join(f" + {text}" for sign, text in terms if sign == "-")
        left = f"sum({arrives[flow]} {INTO}){given}"
        network.row(
            f"balance of {said} power", f"{left} == sum({flow}[i, j, t] {OUT}){taken}",
            ["n in D", "t in T"],
        )  # fmt: skip


def _source(network: Network) -> None:
    """Add what is drawn at the source and what is sent back."""
    lines, reader, draft = network.scene.lines, network.reader, network.draft
    buy = network.price("import_price") or network.wanted(
        "source", "import_price", "import_price", "energy costs 95 EUR/MWh"
    )
    sell = network.price("export_price")
    no_export = "no_export" in reader.facts
    most = {
        side: network.value("source", f"{side}_power_max", f"{side}_power_max")
        for side in ("import", "export")
    }
    if sell is not None and no_export:
        draft.doubt(
            reader.facts["no_export"][0], "sending back is excluded here and priced elsewhere"
        )
    weather = any(d.role in ("pv", "wind") for d in network.scene.data)
    if sell is None and not no_export:
        if weather or most["export"] is not None:
            draft.missing.append(
                Missing(
                    "source", "export_price", "what energy that is sent back earns is not given"
                )
            )
        draft.assume("nothing is said of sending power back: nothing is sent back")
    net = f"sum(P[i, j, t] for (i, j) in L if i == '{lines.source}')"
    enough = _enough(network)
    network.variable("bought", ["t in T"], "MW", lower=0, upper=most["import"] or enough[0],
                     role="decision", quantity="source.import",
                     description="drawn from the source")  # fmt: skip
    network.costs.insert(0, ("+", f"sum({network.builder.at(buy)}*bought[t]*dt(t) for t in T)"))
    if sell is None:
        network.row("power of the source", f"bought[t] == {net}", ["t in T"])
        return
    network.variable("sold", ["t in T"], "MW", lower=0, upper=most["export"] or enough[1],
                     role="decision", quantity="source.export",
                     description="sent back to the source")  # fmt: skip
    network.row("power of the source", f"bought[t] - sold[t] == {net}", ["t in T"])
    network.costs.append(("-", f"sum({network.builder.at(sell)}*sold[t]*dt(t) for t in T)"))
    numbers = network.builder.numbers
    if buy in numbers and not bool((numbers[buy] >= numbers[sell]).all()):
        draft.doubt(0, "buying and selling at once would pay")


def _enough(network: Network) -> tuple[str | None, str | None]:
    """Return bounds on what is drawn and sent back that exclude no plan worth having.

    Without losses nobody draws more than all loads take, nor sends back more than is made; with
    losses the sections at the source bound the power.
    """
    source = network.scene.lines.source
    if not network.lossy:
        return network.loads or None, " + ".join(network.makers) or None
    bounds = next(v for v in network.builder.variables if v["name"] == "P")
    if "upper" not in bounds:
        return None, None
    most = f"sum({bounds['upper']} for (i, j) in L if i == '{source}')"
    return most, most


def _objective(network: Network, goal: Goal | None, currency: str) -> Json | None:
    if goal is None:
        return None
    asked = set(network.reader.marked(goal.line).concepts)
    if goal.target not in ("cost", "profit") or asked & {"most", "least", "peak"}:
        network.draft.refuse(goal.line, "the engine has no such objective for a feeder")
        return None
    profit = goal.target == "profit"
    flip = {"+": "-", "-": "+"}
    signed = [(flip[s] if profit else s, text) for s, text in network.costs]
    signed.sort(key=lambda pair: pair[0] != "+")
    text = "".join(f" {sign} {term}" for sign, term in signed).strip()
    return {
        "name": goal.target,
        "sense": "maximize" if profit else "minimize",
        "expression": text.removeprefix("+ ") if text[0] == "+" else f"-{text[2:]}",
        "unit": wanted_currency(network.draft, goal, currency),
        "source_reference": network.draft.quote(goal.line),
    }
