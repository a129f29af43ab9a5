r"""Linear recursions :math:`x_{n+1} = A_n x_n + b_n` without a loop over time.

Pairs of steps are composed, then pairs of pairs: :math:`\log_2 N` passes over whole arrays. Unlike
the scaled cumulative sum this divides by nothing, so that a strong decay over 100 000 steps neither
overflows nor loses digits.
"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def scalar_recursion(factor: Floats, input_: Floats, initial: float) -> Floats:
    """Return ``x`` of shape (N+1,) with ``x[n+1] = factor[n] * x[n] + input_[n]``.

    Examples
    --------
    >>> scalar_recursion(np.array([0.5, 0.5]), np.array([1.0, 1.0]), 4.0).tolist()
    [4.0, 3.0, 2.5]
    """
    total = np.concatenate(([initial], input_))
    if (factor == 1.0).all():
        return np.asarray(np.cumsum(total))
    product = np.concatenate(([0.0], factor))
    shift = 1
    while shift < len(total):
        # The sum on the right is complete before the assignment, so no value is used twice.
        total[shift:] = total[shift:] + product[shift:] * total[:-shift]
        product[shift:] = product[shift:] * product[:-shift]
        shift *= 2
    return total


def matrix_recursion(matrix: Floats, input_: Floats, initial: Floats) -> Floats:
    """Return ``x`` of shape (N+1, n) with ``x[k+1] = matrix @ x[k] + input_[k]``.

    ``matrix`` has shape (n, n) for equal steps or (N, n, n); ``input_`` has shape (N, n).
    """
    total = np.concatenate((initial[None, :], input_))
    shift = 1
    if matrix.ndim == 2:
        power = matrix
        while shift < len(total):
            total[shift:] = total[shift:] + total[:-shift] @ power.T
            power = power @ power
            shift *= 2
        return total
    product = np.concatenate((np.zeros_like(matrix[:1]), matrix))
    while shift < len(total):
        carried = np.einsum("kij,kj->ki", product[shift:], total[:-shift])
        total[shift:] = total[shift:] + carried
        product[shift:] = product[shift:] @ product[:-shift]
        shift *= 2
    return total


def diagonal_recursion(factor: Floats, input_: Floats, initial: Floats) -> Floats:
    """Return ``x`` of shape (N+1, n) with ``x[k+1] = factor * x[k] + input_[k]``, entry by entry.

    ``factor`` has shape (n,) for equal steps or (N, n).

    Examples
    --------
    >>> diagonal_recursion(np.array([0.5]), np.array([[1.0], [1.0]]), np.array([4.0])).tolist()
    [[4.0], [3.0], [2.5]]
    """
    total = np.concatenate((initial[None, :], input_))
    shift = 1
    if factor.ndim == 1:
        power = factor.copy()
        while shift < len(total):
            total[shift:] = total[shift:] + power * total[:-shift]
            power *= power
            shift *= 2
        return total
    product = np.concatenate((np.zeros_like(factor[:1]), factor))
    while shift < len(total):
        total[shift:] = total[shift:] + product[shift:] * total[:-shift]
        product[shift:] = product[shift:] * product[:-shift]
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
