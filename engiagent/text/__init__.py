"""Problems as people write them: text, tables, quantities and data files, and the corpus.

>>> from engiagent.text import Problem, corpus_root
>>> problem = Problem.load(corpus_root() / "battery" / "merchant_day")
>>> problem.data["day_ahead.csv"].rows
24
"""

from engiagent.text.corpus import corpus_root, find_problems, locate
from engiagent.text.datafile import Column, DataFile
from engiagent.text.parts import Cell, Quantity, Sentence, Table
from engiagent.text.problem import Problem

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
