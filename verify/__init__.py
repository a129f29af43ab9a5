"""The checker: whether a schedule obeys the data, the requirements and the physics of its problem.

It trusts neither the language model, nor the model builder, nor the solver, and shares no code with
them: of the rest of the project it knows the grammar and the declarations of blueprints and the
physics of :mod:`engiagent.models`.
"""
