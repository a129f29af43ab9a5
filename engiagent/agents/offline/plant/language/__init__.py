"""What sentences say: words as concepts, clauses, numbers into slots, and what is passed over."""
