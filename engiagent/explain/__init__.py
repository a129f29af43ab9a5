"""Why a problem has no plan, has no best plan, or has just this one, in the blueprint's words."""

from engiagent.explain.explaining import Given, explain, explain_result
from engiagent.explain.explanation import Explanation

__all__ = ["Explanation", "Given", "explain", "explain_result"]
