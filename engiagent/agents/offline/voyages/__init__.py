"""The reader of vessels and vehicles that go to and fro: legs, stops with a charger, a battery."""
