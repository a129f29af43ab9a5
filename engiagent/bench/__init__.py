"""Measurements of the product itself: how much of a corpus an engine answers, and how rightly."""

from engiagent.bench.corpus import Row, Tally, bench_corpus

__all__ = ["Row", "Tally", "bench_corpus"]
