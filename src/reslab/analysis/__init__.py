"""What goes on inside a trained network."""
