from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engiagent.models.buildings import H_IS, Zone5R1C
from engiagent.models.ranges import ParameterError

OFFICE = Zone5R1C(
    mass_capacity=1.572,
    mass_area=85.75,
    surface_area=154.35,
    window_conductance=0.01485,
    opaque_conductance=0.000338,
)


@given(st.integers(0, 2**32 - 1))
def test_the_network_is_annex_c(seed: int) -> None:
    """Equations C.1 to C.11 of the standard, with its step in the middle (Crank-Nicolson)."""
    rng, zone = np.random.default_rng(seed), OFFICE
    flow, outside, supply = rng.uniform(0.001, 0.05), rng.uniform(-10, 30), rng.uniform(10, 25)
    air, skin, core = rng.uniform(0, 1, 3)
    h_is, h_ms = H_IS * zone.surface_area / 1000, zone.mass_conductance
    h_w, h_op = zone.window_conductance, zone.opaque_conductance
    h_em = 1 / (1 / h_op - 1 / h_ms)
    h_1 = 1 / (1 / flow + 1 / h_is)
    h_2 = h_1 + h_w
    h_3 = 1 / (1 / h_2 + 1 / h_ms)
    push = skin + h_w * outside + h_1 * (air / flow + supply)
    total = core + h_em * outside + h_3 * push / h_2
    rate, mass, step = zone.mass_capacity, 20.0, 0.001
    after = (mass * (rate / step - 0.5 * (h_3 + h_em)) + total) / (rate / step + 0.5 * (h_3 + h_em))
    mean = (mass + after) / 2
    surface = (h_ms * mean + push) / (h_ms + h_w + h_1)
    inside = (h_is * surface + flow * supply + air) / (h_is + flow)
    run = zone.network(flow).simulate(
        {"ambient": outside, "supply": supply},
        [step],
        {"air": air, "surface": skin, "mass": core},
        initial={"mass": mass},
    )
    assert run.mean_temperature[0] == pytest.approx([inside, surface, mean], abs=1e-6)
    assert run.temperature[1, 2] == pytest.approx(after, abs=1e-6)


def test_a_wall_that_leads_more_than_the_mass_takes_is_refused() -> None:
    with pytest.raises(ParameterError, match="opaque conductance"):
        replace(OFFICE, opaque_conductance=10.0)
