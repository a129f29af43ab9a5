"""Reading new values of one parameter: numbers, arrays, objects by label, with units."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from engiagent.blueprint.document import FrozenMap, ParameterDef, freeze
from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.values import inline_values, unit_of
from engiagent.errors import InputError
from engiagent.formulations.values import Floats
from engiagent.units.unit import Unit, UnitError, conversion, parse_unit


class ParameterInput:
    """How values of one parameter are read.

    Attributes
    ----------
    shape
        Sizes of its sets.
    unit
        The unit in which its values are held.
    """

    def __init__(self, definition: ParameterDef, sets: tuple[IndexSet, ...]) -> None:
        self.name = definition.name
        self.shape = tuple(s.size for s in sets)
        self.unit: Unit = unit_of(definition)
        self._definition = definition
        self._sets = sets
        self._by_label = isinstance(definition.unit, FrozenMap) and not definition.unit_override

    def read(self, given: Any) -> Floats:
        """Return new values in :attr:`unit`, of this parameter's shape.

        Raises
        ------
        InputError
            When shape, label or unit is wrong or a value is not finite.
        """
        if type(given) is np.ndarray and given.shape == self.shape and not self._by_label:
            try:
                values = given.astype(np.float64)
            except (TypeError, ValueError) as error:
                raise InputError(f"{self.name}: {error}") from None
        else:
            values = self._read(given)
        if not np.isfinite(values).all():
            raise InputError(f"{self.name}: a value is not a finite number")
        return values

    def _read(self, given: Any) -> Floats:
        unit: str | None = None
        if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], str):
            given, unit = given
        try:
            if isinstance(given, Mapping):
                values = self._inline(_frozen(given), unit)
            elif self._by_label and unit is None:
                zero, one = self._inline(0.0, None), self._inline(1.0, None)
                values = zero + (one - zero) * self._shaped(given)
            else:
                values = self._shaped(given)
            return values if unit is None else self._converted(values, unit)
        except UnitError as error:
            raise InputError(f"{self.name}: {error}") from None
        except (TypeError, ValueError) as error:
            raise InputError(f"{self.name}: {error}") from None

    def _shaped(self, given: Any) -> Floats:
        values = np.asarray(given, dtype=np.float64)
        if values.shape not in ((), self.shape):
            raise InputError(
                f"{self.name}: the shape of the values is wrong",
                found=str(values.shape),
                expected=f"a number or {self.shape}",
            )
        return np.array(np.broadcast_to(values, self.shape))

    def _inline(self, value: Any, unit: str | None) -> Floats:
        definition = replace(self._definition, value=value)
        if unit is not None:
            # In one given unit the numbers stay as they are until they are converted together.
            definition = replace(definition, unit=unit, unit_override=None)
        return np.asarray(inline_values(definition, self._sets), dtype=np.float64)

    def _converted(self, values: Floats, unit: str) -> Floats:
        factor, shift = conversion(parse_unit(unit), self.unit)
        return np.asarray(values * factor + shift)


def _frozen(given: Any) -> Any:
    if isinstance(given, Mapping):
        return FrozenMap({str(key): _frozen(item) for key, item in given.items()})
    return freeze(given.tolist() if isinstance(given, np.ndarray) else given)
