"""Solvers: one adapter file each, solving in a child process, one status vocabulary.

Sees programs (plain arrays), never blueprints or physics.
"""
