"""What was published, as data; no torch here."""
