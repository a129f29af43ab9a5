"""Forms and atoms as JSON and arrays, with what is shared kept shared.

An atom's arguments are forms, and forms have parts with atoms: a tree in which one form may stand
in several places (the two arguments of a square are the same object). Each object is written once,
in a list, after what it rests on; places in that list stand for it.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from engiagent.formulations.values import Atom, Form, Part, Term

Array = npt.NDArray[Any]
Json = dict[str, Any]


class Writer:
    """Writes parts; ``objects`` and ``arrays`` grow with them."""

    def __init__(self) -> None:
        self.objects: list[Json] = []
        self.arrays: list[Array] = []
        self._places: dict[int, int] = {}
        self._kept: list[object] = []

    def parts(self, parts: Sequence[Part]) -> list[Json]:
        """Return parts as JSON."""
        return [
            {
                "rows": self.array(part.rows),
                "coefficients": self.array(part.coefficients),
                "atom": self._once(part.atom, self._atom),
            }
            for part in parts
        ]

    def array(self, values: Array | None) -> int | None:
        """Return the place of an array in ``arrays``."""
        if values is None:
            return None
        self.arrays.append(np.asarray(values))
        return len(self.arrays) - 1

    def _once(self, item: Any, write: Callable[[Any], Json]) -> int:
        if id(item) not in self._places:
            written = write(item)
            self._places[id(item)] = len(self.objects)
            self.objects.append(written)
            # An object that is alive keeps its id to itself.
            self._kept.append(item)
        return self._places[id(item)]

    def _atom(self, atom: Atom) -> Json:
        return {
            "function": atom.function,
            "size": atom.size,
            "args": [self._once(form, self._form) for form in atom.args],
            "groups": self.array(atom.groups),
            "numbers": [self.array(numbers) for numbers in atom.numbers],
        }

    def _form(self, form: Form) -> Json:
        return {
            "form": form.size,
            "constant": self.array(form.constant),
            "terms": [
                [self.array(term.rows), self.array(term.columns), self.array(term.coefficients)]
                for term in form.terms
            ],
            "parts": self.parts(form.parts),
        }


class Reader:
    """Reads what a :class:`Writer` wrote."""

    def __init__(self, objects: Sequence[Json], arrays: Sequence[Array]) -> None:
        self._arrays = arrays
        self._made: list[Any] = []
        for item in objects:
            self._made.append(self._form(item) if "form" in item else self._atom(item))

    def parts(self, items: Sequence[Json]) -> tuple[Part, ...]:
        """Return parts from JSON."""
        return tuple(
            Part(
                self.array(item["rows"]),
                self._arrays[item["coefficients"]],
                self._made[item["atom"]],
            )
            for item in items
        )

    def array(self, place: int | None) -> Any:
        """Return the array at a place."""
        return None if place is None else self._arrays[place]

    def _atom(self, item: Json) -> Atom:
        return Atom(
            item["function"],
            item["size"],
            tuple(self._made[place] for place in item["args"]),
            self.array(item["groups"]),
            tuple(self._arrays[place] for place in item["numbers"]),
        )

    def _form(self, item: Json) -> Form:
        terms = tuple(
            Term(self.array(rows), self._arrays[columns], self._arrays[coefficients])
            for rows, columns, coefficients in item["terms"]
        )
        return Form(item["form"], self._arrays[item["constant"]], terms, self.parts(item["parts"]))
