"""Clusters: buildings that are plant files of their own, joined to one plant.

A component ``battery`` of the building ``north`` becomes ``north_battery``, a bus of its own, and a
requirement likewise; all else then works as for any plant. Every value stays at its place in the
file that states it, so that errors and sources name that file. Files lie beside the cluster.

What the buildings import, less what they export, is one flow at the connection that they share. A
building that is planned alone has a share of its limits instead.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

from engiagent.errors import InputError
from engiagent.formulations.components import MODELS
from engiagent.io.files import open_inside
from engiagent.plant.source import FormError, PlantError, Source, nearest
from engiagent.plant.statement import BUS
from engiagent.plant.values import Quantity, pieces
from engiagent.text.frontmatter import Key, Node, read_nodes
from engiagent.text.problem import decode_text
from engiagent.units.unit import UnitError, convert, parse_unit
from engiagent.units.words import conventions_of

PLANT_KEYS: Final = ("title", "currency", "horizon", "goal", "requirements", "components", "cases")
KEYS: Final = (*PLANT_KEYS, "buildings", "shared", "limit", "buses")
BUILDING: Final = ("plant", "count", "set")
WAYS: Final = ("import", "export")
BUSES: Final = ("bus", "heat_bus", "cooling_bus", "fuel_bus", "source")
OWNERS: Final = ("zone", "grid", "air_handler")
SHARES: Final = ("equal", "connection", "unlimited")
"""How buildings that plan alone share the limits: evenly, by their own connections, not at all."""


@dataclass(frozen=True)
class Building:
    """A building: the nodes of its plant file, and values of slots by ``component.slot``."""

    name: Key
    plant: Mapping[Any, Node]
    given: Mapping[Any, Node]

    @property
    def components(self) -> Mapping[Any, Node]:
        """The components of its plant file, none where that has none."""
        found = self.plant.get("components")
        return found.value if found is not None and isinstance(found.value, dict) else {}

    def slot(self, owner: str, slot: str) -> Node | None:
        """Return what fills a slot."""
        own = self.components.get(owner)
        stated = own.value.get(slot) if own is not None and isinstance(own.value, dict) else None
        return self.given.get(f"{owner}.{slot}", stated)


@dataclass(frozen=True)
class Cluster:
    """A cluster as it is stated."""

    source: Source
    root: Node
    buildings: Mapping[str, Building]
    at: str = "grid"  # the component of each building that is its connection
    # what is limited at the shared connection, by ``import`` and ``export``
    limits: Mapping[str, Node] = field(default_factory=dict)
    shared_buses: frozenset[str] = frozenset()  # buses by the same name in all buildings

    @property
    def connections(self) -> dict[str, str]:
        """By building its component at the shared connection, of those that have one."""
        return {n: f"{n}_{self.at}" for n, b in self.buildings.items() if self.at in b.components}

    def limit(self, way: str) -> float | None:
        """Return what may be imported or exported together, None where there is no limit. [kW]."""
        node = self.limits.get(way)
        return None if node is None else _kilowatts(self.source, node)

    def shares(self, rule: str) -> dict[str, float | None]:
        """Return by building its share of the limits, None where it has none.

        Raises InputError for an unknown rule, or without the connections that it goes by.
        """
        if rule not in SHARES:
            expected = nearest(rule, SHARES)
            raise InputError("there is no such rule of sharing", found=rule, expected=expected)
        if rule == "unlimited" or not self.limits:
            return dict.fromkeys(self.buildings)
        sizes = {
            name: 1.0 if rule == "equal" else self._connection(building)
            for name, building in self.buildings.items()
        }
        return {name: size / sum(sizes.values()) for name, size in sizes.items()}

    def _connection(self, building: Building) -> float:
        node = building.slot(self.at, "import_power_max")
        if node is None:
            said = f"the connection of {building.name} has no size to share by"
            raise InputError(said, expected=f"import_power_max of its {self.at}")
        try:
            return _kilowatts(self.source, node)
        except FormError as error:
            found = str(node.value)
            raise self.source.error(node, error.message, error.expected, found=found) from None

    def plant(self, only: str | None = None, share: float | None = 1.0) -> Node:
        """Return the one plant that a cluster is, or that of a building with a share of the limits.

        A building planned alone has nothing of what the cluster states for all.
        """
        top = {k: n for k, n in self.root.value.items() if k in PLANT_KEYS}
        alone = ("requirements", "components", "cases") if only is not None else ()
        top = {key: node for key, node in top.items() if key not in alone}
        for part, prefixed in (("components", _components), ("requirements", _requirements)):
            entries = dict(top[part].value) if part in top and _is_map(top[part]) else {}
            for name, building in self.buildings.items():
                if only in (None, name):
                    for key, node in prefixed(building, self.shared_buses):
                        if key in entries:
                            file = self.source.file_of(key.node)
                            raise PlantError([key.node.error(f"a second {key!s}", file)])
                        entries[key] = node
            if part == "requirements" and share is not None:
                names = [c for n, c in self.connections.items() if only in (None, n)]
                entries |= dict(self._limited(names, share))
            if entries:
                top[part] = replace(top.get(part, self.root), value=entries)
        return replace(self.root, value=top)

    def _limited(self, grids: list[str], share: float) -> Iterator[tuple[Key, Node]]:
        """Yield the requirements that the limits at the shared connection are."""
        part = "" if share == 1.0 else f"{share!r}*"
        for way, node in self.limits.items():
            other = WAYS[way == "import"]
            net = " + ".join(f"{grid}.{way}[t] - {grid}.{other}[t]" for grid in grids)
            yield Key(f"limit_{way}", node), replace(node, value=f"{net} <= {part}{node.value}")


def _kilowatts(source: Source, node: Node) -> float:
    """Return a power. [kW]."""
    with suppress(UnitError):
        match pieces(str(node.value).strip(), conventions_of(source.own)):
            case [Quantity(number=number, unit=unit)] if unit is not None:
                return convert(number, unit, parse_unit("kW"))
    raise FormError("no power", 0, "a quantity as 80 kW", node=node)


def _is_map(node: Node) -> bool:
    return isinstance(node.value, dict)


# -- reading --------------------------------------------------------------------------------------


def is_cluster(root: Node) -> bool:
    """Whether a tree states buildings."""
    return _is_map(root) and "buildings" in root.value


def read_cluster(source: Source, root: Node) -> Cluster:
    """Return the cluster that a tree states.

    Raises PlantError with all that is wrong but in its buildings, whose own errors show when they
    are read.
    """
    source.entries(root, "the cluster", KEYS)
    shared = source.entries(root.value.get("shared"), "shared")
    plants: dict[str, Node] = {}
    buildings: dict[str, Building] = {}
    for key, node in source.entries(root.value["buildings"], "buildings").items():
        stated = {"plant": node} if node.is_text else source.entries(node, f"{key}", BUILDING)
        file = source.text(stated.get("plant", Node("", node.line, node.column)), "the plant")
        given = source.entries(stated.get("set"), "set")
        if file is None:
            continue
        with source.recording(stated["plant"]):
            tree = plants.get(file) or plants.setdefault(file, _included(source, file))
            one = Building(key, tree.value, given)
            _check_owners(source, one)
            slots = {k: v for k, v in shared.items() if _owner(k) in one.components}
            for name in _copies(key, stated.get("count")):
                named = Key(name, key.node)
                buildings[name] = replace(one, name=named, given={**slots, **given})
    for key in shared:
        if buildings and all(_owner(key) not in b.components for b in buildings.values()):
            source.fault(key.node, f"no building has a component {_owner(key)!r}")
    limits = source.entries(root.value.get("limit"), "limit", (*WAYS, "at"))
    at = source.text(limits.get("at"), "at") or "grid"
    powers = {w: limits[w] for w in WAYS if source.text(limits.get(w), f"limit.{w}") is not None}
    for way, node in powers.items():
        with source.recording(node, f"limit.{way}"):
            _kilowatts(source, node)
    if powers and not any(at in b.components for b in buildings.values()):
        place = limits.get("at", root.value["limit"])
        source.fault(place, f"no building has a component {at!r} for the limit", "at: its name")
    buses = root.value.get("buses")
    listed = [] if buses is None else buses.value if isinstance(buses.value, list) else [buses]
    if source.errors:
        raise PlantError(source.errors)
    names = frozenset(str(node.value) for node in listed)
    return Cluster(source, root, buildings, at, powers, names)


def _owner(name: str) -> str:
    return name.partition(".")[0]


def _check_owners(source: Source, building: Building) -> None:
    """Refuse values of components that a building has not."""
    for name in building.given:
        if _owner(name) not in building.components:
            said = f"{building.name}: there is no component {_owner(name)!r}"
            source.fault(name.node, said, nearest(_owner(name), building.components))


def _copies(key: Key, count: Node | None) -> list[str]:
    """Return the names of a building, numbered where there are several."""
    if count is None:
        return [str(key)]
    if not str(count.value).isdecimal() or not 1 <= int(count.value) <= 1000:
        raise FormError("no count", 0, "a whole number from 1 to 1000", node=count)
    return [f"{key}{number}" for number in range(1, int(count.value) + 1)]


def _included(source: Source, file: str) -> Node:
    """Return the tree of a plant file beside the cluster, its text added to the source's."""
    try:
        text = decode_text(open_inside(source.problem.folder, file), file)
    except InputError as error:
        raise FormError(str(error.message), 0, "a plant file beside the cluster") from None
    tree = read_nodes(text, file, "the plant", 1)
    if tree is None or not _is_map(tree) or "components" not in tree.value:
        raise FormError(f"{file} states no components", 0, "a plant file")
    begin = len(source.yaml) + 1
    source.included[begin] = file
    source.yaml += f"\n{text}"
    return _moved(tree, begin)


def _moved(node: Node, by: int) -> Node:
    value = node.value
    if isinstance(value, list):
        value = [_moved(child, by) for child in value]
    if isinstance(value, dict):
        value = {Key(key, _moved(key.node, by)): _moved(child, by) for key, child in value.items()}
    return replace(node, value=value, start=node.start + by, end=node.end + by)


# -- prefixes -------------------------------------------------------------------------------------


def _components(building: Building, shared: frozenset[str]) -> Iterator[tuple[Key, Node]]:
    """Yield the components of a building under the names that they have in the cluster."""
    own = building.name

    def bus(name: str) -> str:
        return name if name in shared or name == "none" else f"{own}_{name}"

    def owner(name: str) -> str:
        return f"{own}_{name}" if name in building.components else name

    stated = any("bus" in node.value for node in building.components.values() if _is_map(node))
    for key, node in building.components.items():
        if not _is_map(node):
            yield Key(owner(key), key.node), node
            continue
        entries = dict(node.value)
        for name, value in building.given.items():
            if _owner(name) == key:
                entries[Key(name.partition(".")[2], name.node)] = value
        changed = {k: _connected(str(k), v, bus, owner) for k, v in entries.items()}
        model = MODELS.get(str(getattr(entries.get("model"), "value", "")).strip())
        if not stated and model is not None and "bus" in model.connections:
            changed[Key("bus", key.node)] = replace(key.node, value=bus(BUS))
        yield Key(owner(key), key.node), replace(node, value=changed)


def _connected(
    key: str, node: Node, bus: Callable[[str], str], owner: Callable[[str], str]
) -> Node:
    """Return a connection by the names of the cluster; all else as it is."""
    if key == "neighbours" and _is_map(node):
        return replace(node, value={Key(owner(k), k.node): v for k, v in node.value.items()})
    if key == "buses" and _is_map(node):
        return replace(node, value={Key(bus(k), k.node): v for k, v in node.value.items()})
    if node.is_text and key in BUSES:
        return replace(node, value=bus(node.value.strip()))
    return replace(node, value=owner(node.value.strip())) if key in OWNERS else node


def _requirements(building: Building, shared: frozenset[str]) -> Iterator[tuple[Key, Node]]:
    """Yield the requirements of a building, its components by their names in the cluster."""
    names = "|".join(sorted(map(re.escape, building.components), key=len, reverse=True))
    pattern = re.compile(rf"(?<![\w.])(?=(?:{names})(?:\.|_[a-z]))")

    def renamed(node: Node) -> Node:
        if _is_map(node):
            return replace(node, value={k: renamed(v) for k, v in node.value.items()})
        text = node.value
        return replace(node, value=pattern.sub(f"{building.name}_", text)) if node.is_text else node

    stated = building.plant.get("requirements")
    for key, node in stated.value.items() if stated is not None and _is_map(stated) else ():
        yield Key(f"{building.name}_{key}", key.node), renamed(node)
