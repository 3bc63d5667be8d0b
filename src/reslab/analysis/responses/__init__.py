"""The standard deviation of every layer's responses (Fig. 7 of the paper)."""
