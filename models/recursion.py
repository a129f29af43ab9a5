r"""Linear recursions :math:`x_{n+1} = A_n x_n + b_n` without a loop over time.

Pairs of steps are composed, then pairs of pairs: :math:`\log_2 N` passes over whole arrays. Unlike
the scaled cumulative sum this divides by nothing, so that a strong decay over 100 000 steps neither
overflows nor loses digits.
"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def linear_recursion(factor: Floats, driven: Floats, initial: npt.ArrayLike) -> Floats:
    """Return ``x`` of shape (N+1, …) with ``x[n+1] = factor[n] * x[n] + driven[n]``.

    ``factor`` has the shape (N, …) of ``driven``, or broadcasts to it.

    Examples
    --------
    >>> linear_recursion(np.full((2, 2), 0.5), np.ones((2, 2)), [4.0, 0.0]).tolist()
    [[4.0, 0.0], [3.0, 1.0], [2.5, 1.5]]
    """
    start = np.broadcast_to(np.asarray(initial, dtype=np.float64), driven.shape[1:])
    total = np.concatenate((start[None], driven))
    if (factor == 1.0).all():
        return np.asarray(np.cumsum(total, axis=0))
    product = np.concatenate((np.zeros_like(driven[:1]), np.broadcast_to(factor, driven.shape)))
    shift = 1
    while shift < len(total):
        # The sum on the right is complete before the assignment, so no value is used twice.
        total[shift:] = total[shift:] + product[shift:] * total[:-shift]
        product[shift:] = product[shift:] * product[:-shift]
        shift *= 2
    return total


def matrix_recursion(matrix: Floats, input_: Floats, initial: Floats) -> Floats:
    """Return ``x`` of shape (N+1, n) with ``x[k+1] = matrix @ x[k] + input_[k]``.

    ``matrix`` has shape (n, n), ``input_`` has shape (N, n).
    """
    total = np.concatenate((initial[None, :], input_))
    shift = 1
    while shift < len(total):
        total[shift:] = total[shift:] + total[:-shift] @ matrix.T
        matrix = matrix @ matrix
        shift *= 2
    return total


def switched_recursion(
    matrices: Floats, which: npt.NDArray[np.intp], input_: Floats, initial: Floats
) -> Floats:
    """Return ``x`` of shape (N+1, n) with ``x[k+1] = matrices[which[k]] @ x[k] + input_[k]``.

    ``matrices`` has shape (m, n, n). Where there is one matrix this is :func:`matrix_recursion`;
    several would need a product per step and pair, N n^2 numbers, so that the steps go one by one.
    """
    if len(matrices) == 1:
        return matrix_recursion(matrices[0], input_, initial)
    total = np.concatenate((initial[None, :], input_))
    for k, number in enumerate(which):
        total[k + 1] += matrices[number] @ total[k]
    return total
