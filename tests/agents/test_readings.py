"""What the texts say is what the blueprints hold, and the blueprints compile and solve."""

from pathlib import Path

import numpy as np
import pytest

from tests.agents.support import analysed, parameter_values
from tests.agents.texts import TEXTS


@pytest.mark.parametrize("name", TEXTS)
def test_text_is_read_completely(name: str, tmp_path: Path) -> None:
    text = TEXTS[name]
    analysis = analysed(tmp_path, text.body, text.files)
    assert analysis.missing == ()
    assert analysis.not_understood == ()
    assert analysis.ambiguous == ()
    assert analysis.blueprint is not None
    values = parameter_values(analysis.blueprint, tmp_path)
    for slot, expected in text.slots.items():
        assert np.allclose(values[slot], expected, rtol=1e-4), slot
    core = analysis.blueprint.core
    written = [constraint.expression for constraint in core.constraints]
    for part in text.constraints:
        assert any(part in expression for expression in written), part
    axis = next(s for s in core.sets if s.kind == "time")
    assert axis.periods == text.periods
    assert text.start is None or axis.start == text.start
    assert core.objective_function is not None
    assert core.objective_function.sense == text.sense
