"""What stands at the nodes of a feeder: loads, sun and wind, an engine."""

from engiagent.agents.offline.draft import Json
from engiagent.agents.offline.feeders.loads import NodeData
from engiagent.agents.offline.feeders.network import Network
from engiagent.agents.offline.results import Missing


def _of_nodes(network: Network, data: NodeData) -> tuple[str, str]:
    """Add values at nodes as a parameter; return it with its set."""
    lines, sheet, builder = network.scene.lines, data.sheet, network.builder
    among = "D"
    if set(data.nodes) != set(lines.nodes[1:]):
        among = f"N_{data.role}"
        builder.sets.append({"name": among, "kind": "subset", "of": "N",
                             "elements": list(data.nodes)})  # fmt: skip
    index = [among, "T"] if data.varies else [among]
    column = data.columns[0]
    fields: Json = {"index": index}
    if sheet.file:
        name = "*" if data.varies else sheet.names[column]
        fields |= {"data": f"{sheet.file}#{name}", "keys": [sheet.names[data.keys]],
                   "source_reference": {"kind": "file", "file": sheet.file,
                                        "column": name}}  # fmt: skip
    else:
        sources = [s for c in data.columns for s in sheet.source(c)]
        values: Json = {}
        for k, node in enumerate(data.nodes):
            numbers = sheet.numbers(data.columns[k] if data.varies else column) or ()
            values[node] = list(numbers) if data.varies else numbers[k]
        fields |= {"value": values, "source_reference": sources}
    made = builder.parameter(f"node_{data.role}", data.unit, f"{data.role} at a node", **fields)
    return made, among


def _shown(name: str, varies: bool) -> str:
    return f"{name}[n, t]" if varies else f"{name}[n]"


def _term(network: Network, name: str, among: str, varies: bool, unit: str) -> str:
    shown = _shown(name, varies)
    return shown if among == "D" else f"({shown} if n in {among} else 0[{unit}])"


def add_loads(network: Network) -> None:
    """Add active and reactive loads."""
    draft, builder = network.draft, network.builder
    data = {d.role: d for d in network.scene.data}
    if "load" not in data:
        builder.missing("load", "kW", "load", Missing("load", "power", "the loads are not given"))
        return
    name, among = _of_nodes(network, data["load"])
    load = _term(network, name, among, data["load"].varies, "kW")
    network.active.append(("-", load))
    network.loads = f"sum({_shown(name, data['load'].varies)} for n in {among})"
    ratio = network.value("feeder", "reactive_ratio", "reactive_ratio")
    factor = network.value("feeder", "power_factor", "power_factor")
    unity = "load_unity" in network.reader.facts
    ways = [w for w in ("reactive" in data, ratio is not None, factor is not None, unity) if w]
    if len(ways) > 1:
        draft.doubt(0, "the reactive load is given in several ways")
    if not ways:
        lack = "the reactive load is not given; add it, a power factor, or that there is none"
        builder.missing(
            "reactive", "kvar", "reactive load", Missing("load", "reactive_power", lack)
        )
    if "reactive" in data:
        name, among = _of_nodes(network, data["reactive"])
        term = _term(network, name, among, data["reactive"].varies, "kvar")
        network.reactive.append(("-", term))
    elif ratio is not None:
        network.reactive.append(("-", f"{ratio}*{load}"))
    elif factor is not None:
        network.reactive.append(("-", f"sqrt(1/{factor}**2 - 1)*{load}"))


def add_weather(network: Network) -> None:
    """Add sun and wind at the nodes."""
    draft, facts = network.draft, network.reader.facts
    data = {d.role: d for d in network.scene.data}
    for role in ("pv", "wind"):
        if role not in data:
            if network.scene.plant.of(role):
                lack = f"what the {role} at the nodes can give is not given"
                draft.missing.append(Missing(role, "available_power", lack))
            continue
        name, among = _of_nodes(network, data[role])
        available = _shown(name, data[role].varies)
        network.makers.append(f"sum({available} for n in {among})")
        may, must = "curtailable" in facts, "not_curtailable" in facts
        if may is must:
            draft.doubt(0, f"may the {role} power be curtailed?")
        if must:
            network.active.append(("+", _term(network, name, among, data[role].varies, "kW")))
        else:
            network.variable(
                role, [f"n in {among}", "t in T"], "MW", lower=0, upper=available,
                quantity=f"node.{role}_power", role="decision", description="power that is used",
            )  # fmt: skip
            network.active.append(("+", _term(network, role, among, True, "MW")))
        if "unity" not in facts:
            draft.assume("sun and wind give active power only")


def add_engine(network: Network) -> None:
    """Add an engine at a node."""
    reader, draft = network.reader, network.draft
    if not network.scene.plant.of("genset"):
        return
    node = _place_of(network)
    most = network.wanted("genset", "power_max", "engine_power_max", "an engine of up to 900 kW")
    cost = network.wanted("genset", "energy_cost", "engine_energy_cost", "118 EUR/MWh")
    network.variable("engine", ["t in T"], "MW", lower=0, upper=most, role="decision",
                     quantity="engine.active_power",
                     description="output of the engine")  # fmt: skip
    network.active.append(("+", f"(engine[t] if n == '{node}' else 0[MW])"))
    network.makers.append(most)
    network.costs.append(("+", f"sum({cost}*engine[t]*dt(t) for t in T)"))
    both = network.value("genset", "reactive_most", "engine_reactive_most")
    low = network.value("genset", "reactive_min", "engine_reactive_min")
    high = network.value("genset", "reactive_max", "engine_reactive_max")
    if (low is None) is not (high is None) or (both is not None and low is not None):
        draft.doubt(0, "between which limits is the reactive power of the engine?")
    if both is not None:
        low, high = f"-{both}", both
    if low is not None and "genset_unity" in reader.facts:
        line = reader.facts["genset_unity"][0]
        draft.doubt(line, "the engine gives active power only, and has limits of the reactive one")
    if low is None or high is None:
        if "genset_unity" not in reader.facts:
            draft.assume("the engine gives active power only")
        return
    network.variable("engine_reactive", ["t in T"], "Mvar", lower=low, upper=high,
                     quantity="engine.reactive_power", role="decision",
                     description="reactive power of the engine")  # fmt: skip
    network.reactive.append(("+", f"(engine_reactive[t] if n == '{node}' else 0[Mvar])"))


def _place_of(network: Network) -> str:
    """Return the node of the engine: the one that stands in a sentence with it."""
    nodes, draft = network.scene.lines.nodes[1:], network.draft
    found = set()
    for n, line in enumerate(draft.lines):
        if n in draft.table_lines or line.sentence.is_heading:
            continue
        if "@genset" in network.reader.marked(n).concepts:
            words = {t.text for t in line.tokens}
            text = f" {line.line} "
            found |= {m for m in nodes if m.lower() in words or f" {m.lower()} " in text}
    if len(found) != 1:
        draft.missing.append(
            Missing("genset", "node", "at which node the engine stands is not said")
        )
        return nodes[0]
    return found.pop()
