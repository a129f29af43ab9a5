"""The reader of placements: how much fits where, when what is placed deviates by chance."""
