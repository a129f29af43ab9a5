"""Elements of a blueprint by list and name: what an injection spoils and a patch restores."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

Json = dict[str, Any]
CORE: Final = "core_model_elements"
OBJECTIVE: Final = "objective_function"
_KEYS: Final = {
    "sets": "name",
    "parameters": "name",
    "decision_variables": "name",
    "components": "name",
    "expressions": "name",
    "constraints": "constraint_id",
}


@dataclass(frozen=True, order=True)
class Place:
    """An element of the core: its list and its name; the objective has no name."""

    part: str
    name: str = ""

    @property
    def pointer(self) -> str:
        """The JSON pointer, with the name as a step."""
        step = self.name.replace("~", "~0").replace("/", "~1")
        return f"/{CORE}/{self.part}" + (f"/{step}" if self.name else "")


def elements(document: Json, part: str) -> Iterator[tuple[Place, Json]]:
    """Yield the elements of a list of the core."""
    for element in document[CORE].get(part) or ():
        yield Place(part, str(element[_KEYS[part]])), element


def at(document: Json, place: Place) -> Json | None:
    """Return an element, None where there is none."""
    if not place.name:
        found = document[CORE].get(place.part)
        return found if isinstance(found, dict) else None
    return next((e for p, e in elements(document, place.part) if p == place), None)


def put(document: Json, place: Place, element: Json | None) -> Json:
    """Return a copy with an element put in place of the one there; None takes it out."""
    changed = deepcopy(document)
    core = changed[CORE]
    if not place.name:
        core[place.part] = deepcopy(element)
        return changed
    key = _KEYS[place.part]
    items = core.setdefault(place.part, [])
    where = next((n for n, e in enumerate(items) if str(e[key]) == place.name), None)
    if where is None and element is not None:
        items.append(deepcopy(element))
    elif where is not None and element is None:
        del items[where]
    elif where is not None:
        items[where] = deepcopy(element)
    return changed


def operations(document: Json, place: Place, wanted: Json | None) -> list[Json]:
    """Return the patch that puts an element in place, whatever is there."""
    there = at(document, place)
    if wanted is None:
        return [] if there is None else [{"op": "remove", "path": place.pointer}]
    if there is None and place.name:
        return [{"op": "add", "path": f"/{CORE}/{place.part}/-", "value": wanted}]
    return [{"op": "replace", "path": place.pointer, "value": wanted}]


def quotes(value: Any) -> Iterator[str]:
    """Yield the words of the text that an element rests on."""
    if isinstance(value, Mapping):
        if isinstance(value.get("quote"), str):
            yield value["quote"]
        for item in value.values():
            yield from quotes(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from quotes(item)
