"""Readers of whole domains: every piece of a sentence is one of a card's claims, or nothing."""
