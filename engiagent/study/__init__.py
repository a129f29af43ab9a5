"""Studies: a programme solved many times, as cases, a sweep, a front or a sensitivity.

:func:`run_study` takes what is asked (:class:`Cases`, :class:`Sweep`, :class:`Pareto` or
:class:`Sensitivity`), a blueprint and a :class:`Setting`, and returns a :class:`Study`.
"""

from engiagent.study.cases import Cases
from engiagent.study.live import Setting
from engiagent.study.outcome import Study, run_study
from engiagent.study.pareto import Pareto
from engiagent.study.sensitivity import Sensitivity
from engiagent.study.sweep import Sweep

__all__ = ["Cases", "Pareto", "Sensitivity", "Setting", "Study", "Sweep", "run_study"]
