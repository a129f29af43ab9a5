r"""One number from the values of an objective in several scenarios.

Conditional value at risk after Rockafellar and Uryasev (2000), for costs v:

.. math:: \min_\eta \; \eta + \frac{1}{1-\alpha} \sum_s p_s \max(v_s - \eta, 0)
"""

import numpy as np

from engiagent.blueprint.goals import Risk
from engiagent.formulations.evaluator import FormEvaluator
from engiagent.formulations.lowering.builder import Builder
from engiagent.formulations.lowering.intervals import form_bounds
from engiagent.formulations.values import Form, as_form


def reduced(
    builder: Builder, evaluator: FormEvaluator, value: Form, risk: Risk, sense: str, name: str
) -> Form:
    """Return the form of one row that the scenarios' values, shape (scenarios,), amount to."""
    single = np.zeros(value.size, dtype=np.int64)
    if risk.measure == "worst":
        function = "max" if sense == "minimize" else "min"
        return evaluator.over_rows(function, value, single, 1)
    scenarios = risk.scenarios
    assert scenarios.root.probabilities is not None
    weights = scenarios.root.probabilities[scenarios.in_root]
    if risk.measure == "expected":
        return (value * weights).group_sum(single, 1)
    sign = 1.0 if sense == "minimize" else -1.0
    loss = value * sign
    low, high = form_bounds(loss, builder.column_lower, builder.column_upper)
    threshold = builder.add_columns(f"{name}__value_at_risk", 1, low.min(), high.max())
    everywhere = threshold.take(single)
    excess = evaluator.largest("max", [loss - everywhere, as_form(0.0, loss.size)], loss.size, 1)
    return (threshold + (excess * (weights / (1.0 - risk.alpha))).group_sum(single, 1)) * sign
