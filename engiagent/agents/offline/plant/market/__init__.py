"""What is bought, sold, promised and paid."""
