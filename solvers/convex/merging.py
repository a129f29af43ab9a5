"""Many nonlinear parts of one kind as a single one, which costs one step of numpy instead of many.

A blueprint gives one part for a whole index grid; programs from elsewhere may give one for every
row.
"""

from typing import Final

import numpy as np

from engiagent.formulations.values import Atom, Floats, Form, Part, Term

MANY: Final = 20
"""Parts from which merging pays; fewer keep their own places for messages."""
NAMED: Final = 3


def merged(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Return parts with the same sum in every row, those of one function put together."""
    if len(parts) <= MANY:
        return parts
    return _merged(parts)


def _merged(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    kinds: dict[tuple[object, ...], list[Part]] = {}
    for part in parts:
        kinds.setdefault(_kind(part.atom), []).append(part)
    return tuple(_together(group) for group in kinds.values())


def _kind(atom: Atom) -> tuple[object, ...]:
    points = atom.numbers[0].shape[-1] if atom.function == "piecewise" else 0
    return atom.function, len(atom.args), points


def _together(parts: list[Part]) -> Part:
    if len(parts) == 1:
        return parts[0]
    rows = np.concatenate([part.row_numbers() for part in parts])
    weights = [np.broadcast_to(part.coefficients, (part.atom.size,)) for part in parts]
    atoms = [part.atom for part in parts]
    return Part(rows, np.concatenate(weights), _one_atom(atoms))


def _one_atom(atoms: list[Atom]) -> Atom:
    first = atoms[0]
    groups = None
    if first.groups is not None:
        starts = np.cumsum([0, *(atom.size for atom in atoms)])
        groups = np.concatenate(
            [np.asarray(a.groups) + start for a, start in zip(atoms, starts[:-1], strict=True)]
        )
    origins = list(dict.fromkeys(atom.origin for atom in atoms if atom.origin))
    named = ", ".join(origins[:NAMED]) + (" …" if len(origins) > NAMED else "")
    return Atom(
        first.function,
        sum(atom.size for atom in atoms),
        tuple(_one_form([a.args[k] for a in atoms]) for k in range(len(first.args))),
        groups,
        tuple(
            np.concatenate([_spread(atom, atom.numbers[k]) for atom in atoms])
            for k in range(len(first.numbers))
        ),
        named,
        first.column,
    )


def _spread(atom: Atom, values: Floats) -> Floats:
    """Return the numbers of an atom, one (or one row) per element."""
    if atom.function == "piecewise":
        return np.broadcast_to(values, (atom.size, values.shape[-1]))
    return np.broadcast_to(values, (atom.size,))


def _one_form(forms: list[Form]) -> Form:
    starts = np.cumsum([0, *(form.size for form in forms)])
    size = int(starts[-1])
    constants = [np.broadcast_to(form.constant, (form.size,)) for form in forms]
    terms = [(t, start) for f, start in zip(forms, starts[:-1], strict=True) for t in f.terms]
    one: tuple[Term, ...] = ()
    if terms:
        one = (
            Term(
                np.concatenate([term.row_numbers() + start for term, start in terms]),
                np.concatenate([term.columns for term, _ in terms]),
                np.concatenate(
                    [np.broadcast_to(term.coefficients, term.columns.shape) for term, _ in terms]
                ),
            ),
        )
    parts = tuple(
        Part(part.row_numbers() + start, part.coefficients, part.atom)
        for form, start in zip(forms, starts[:-1], strict=True)
        for part in form.parts
    )
    return Form(size, np.concatenate(constants), one, _merged(parts))
