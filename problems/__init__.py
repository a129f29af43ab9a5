"""Problems as people write them: the loader, and the corpus in the folders beside it.

>>> from engiagent.problems import Problem, corpus_root
>>> problem = Problem.load(corpus_root() / "battery" / "merchant_day")
>>> problem.data["day_ahead.csv"].rows
24
"""

from engiagent.problems.corpus import corpus_root, find_problems, locate
from engiagent.problems.datafile import Column, DataFile
from engiagent.problems.parts import Cell, Quantity, Sentence, Table
from engiagent.problems.problem import Problem

__all__ = [
    "Cell",
    "Column",
    "DataFile",
    "Problem",
    "Quantity",
    "Sentence",
    "Table",
    "corpus_root",
    "find_problems",
    "locate",
]
