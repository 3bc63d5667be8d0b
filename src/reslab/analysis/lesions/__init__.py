"""What a network loses when blocks are deleted, exchanged or set back; gradients by length of path."""
