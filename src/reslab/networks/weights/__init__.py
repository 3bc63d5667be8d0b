"""Weight files: ours, and everyone else's both ways."""
