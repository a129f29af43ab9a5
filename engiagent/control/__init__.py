"""Control over a receding horizon: plan, apply the first step, measure, plan again."""

from engiagent.control.closedloop import ClosedLoop
from engiagent.control.elastic import Relaxation
from engiagent.control.horizon import ControlError
from engiagent.control.runner import Control, RecedingHorizon
from engiagent.control.starting import control

__all__ = ["ClosedLoop", "Control", "ControlError", "RecedingHorizon", "Relaxation", "control"]
