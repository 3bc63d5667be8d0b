"""The loss around trained weights."""
