"""What a trained network loses with its blocks."""
