"""What is not known yet: scenarios, stages, commitments and risk."""
