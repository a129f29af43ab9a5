"""Measuring engiagent itself: suites of runs, injected faults, scripted servers."""
