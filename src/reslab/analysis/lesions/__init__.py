"""What a network loses with its blocks: deleted, exchanged or set back; gradients along paths of each length."""
