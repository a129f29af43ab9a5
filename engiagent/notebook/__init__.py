"""Engiagent in a notebook: problems, blueprints, plans and runs that show themselves.

What stands at the top of the package under these names comes from here. Everything has a plain
``repr`` for consoles and an HTML one without scripts, which also shows where a notebook is not
trusted.
"""
