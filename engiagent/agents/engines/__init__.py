"""Engines: who answers what needs judgement."""
