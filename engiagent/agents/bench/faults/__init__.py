"""A scripted model that plays an imperfect analyst, and what coordination makes of its mistakes.

Nothing here is a language model's figure: the analyst knows the expert's blueprint, spoils it, and
mends it with declared probabilities. What is measured is the coordinator and the checks around it.
"""

from engiagent.agents.bench.faults.ablation import MODES, Result, bench_faults
from engiagent.agents.bench.faults.injections import CLASSES, Injection

__all__ = ["CLASSES", "MODES", "Injection", "Result", "bench_faults"]
