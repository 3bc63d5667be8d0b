"""Objects in images: where they are, and what."""
