"""Wrong and harmless copies of right problems, and the truth about each."""
