"""How well a network does."""
