"""Roots of many equations at once, each inside its own bracket, by SciPy's Chandrupatla."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import Floats, ParameterError


def bracketed_root(
    function: Callable[[Floats], Floats], low: npt.ArrayLike, high: npt.ArrayLike, what: str
) -> Floats:
    """Return ``x`` with ``function(x) = 0`` elementwise, between ``low`` and ``high``.

    The width of the bracket at the end is a few units in the last place. Where the function jumps
    over 0 the place of the jump comes back.

    ``function``: maps an array to an array of the same shape, element by element. ``low``,
    ``high``: ends of the brackets, of shapes that broadcast to that of the function's arrays.
    ``what``: what is sought, for the message.

    Examples
    --------
    >>> bracketed_root(lambda x: x**2 - np.array([4.0, 9.0]), 0.0, 5.0, "a root").round(12).tolist()
    [2.0, 3.0]
    """
    from scipy.optimize import elementwise

    first, second = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    shape = np.shape(function(first + 0.0 * second))
    first, second = np.broadcast_to(first, shape), np.broadcast_to(second, shape)

    def at(x: Floats, place: npt.NDArray[np.intp]) -> Floats:
        # SciPy leaves out the elements that are done; the function wants all of them.
        whole = np.array(first, dtype=np.float64)
        whole.flat[place] = x
        return np.asarray(np.broadcast_to(function(whole), shape).flat[place])

    places = np.arange(first.size).reshape(shape)
    tight = {"xatol": 0.0, "xrtol": 0.0, "fatol": 0.0, "frtol": 0.0}
    found = elementwise.find_root(
        at, (first, second), args=(places,), tolerances=tight, maxiter=300
    )
    if (found.status == -1).any():
        raise ParameterError(
            f"{what} does not lie between {np.min(first):g} and {np.max(second):g}; "
            "give conditions in which the unit can work"
        )
    return np.asarray(found.x)
