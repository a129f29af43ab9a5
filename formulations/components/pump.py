r"""A pump with a drive of variable speed: the algebra of a fan, moving water.

.. math:: P_t = P_r\,f(\dot m_t/\dot m_r)
"""

from dataclasses import replace

from engiagent.formulations.components import fan

MODEL = replace(fan.MODEL, summary="pump with a drive of variable speed")
