"""Measuring engiagent itself: suites of runs, scripted servers."""
