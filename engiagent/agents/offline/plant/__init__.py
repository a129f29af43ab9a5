"""Plants of any units: what sentences say as concepts, and units on balances of energy."""
