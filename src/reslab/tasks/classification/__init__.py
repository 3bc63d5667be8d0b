"""Images of one class each."""
