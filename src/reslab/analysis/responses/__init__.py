"""How strongly layers respond."""
