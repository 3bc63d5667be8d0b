"""Images of one size, as arrays."""
