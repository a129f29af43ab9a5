"""A language model's script, run where it can do no harm, and its schedule, checked like any other.

Only for problems that a blueprint cannot express, and only when a user allows it.
"""
