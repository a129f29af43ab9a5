"""A schedule that is large is hashed beside the rest of the check, and says the same."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from engiagent.units.unit import parse_unit
from engiagent.verify.case import LARGE, Case
from engiagent.verify.naming import Known
from engiagent.verify.schedule import Schedule
from engiagent.verify.series import Series


def case_of(size: int) -> Case:
    problem: Any = SimpleNamespace(folder=None)
    power = Series("p", np.linspace(0.0, 1.0, size), parse_unit("kW"), ("T",))
    schedule = Schedule({"p": power}, claims={"objective": 3.0})
    return Case(problem, None, None, Known(), schedule, {"p": power})


def test_the_hash_is_over_every_number_whenever_it_is_made() -> None:
    for size in (3, LARGE // 8 + 1):
        case = case_of(size)
        plain = case.digest()
        case.hash_beside()
        assert case.digest() == plain == case.schedule.sha256()
        case.schedule.series["p"].data[-1] += 1e-12
        case.hash_beside()
        assert case.schedule.sha256() != plain
