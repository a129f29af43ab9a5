r"""A time-varying Kalman filter: states from readings and what a plan predicts of them.

.. math:: P' = A P A^T + Q, \quad K = P' H^T (H P' H^T + R)^{-1}, \quad
          P = (I - K H) P' (I - K H)^T + K R K^T

The covariance ``P`` of what is not known is carried from step to step, so that a state which begins
far off is found while little is known of it, however little a step adds.
"""

from dataclasses import dataclass

import numpy as np

from engiagent.control.horizon import Floats


@dataclass
class Kalman:
    """The filter of one plant."""

    step: Floats  # A
    added: Floats  # Q, the covariance that a step adds
    measures: Floats  # H
    noise: Floats  # R
    exact: list[int]  # the states that are taken as they are read
    spread: Floats  # P, at first that of the beginning

    def gain(self) -> Floats:
        """Go a step ahead and return by how much its readings correct each state."""
        ahead = self.step @ self.spread @ self.step.T + self.added
        seen = self.measures @ ahead @ self.measures.T + self.noise
        found = ahead @ self.measures.T @ np.linalg.pinv(seen, hermitian=True)
        found[self.exact] = self.measures.T[self.exact]
        # The form of Joseph holds for any gain, also where a reading is taken as it is.
        rest = np.eye(len(ahead)) - found @ self.measures
        self.spread = rest @ ahead @ rest.T + found @ self.noise @ found.T
        return np.asarray(found)
