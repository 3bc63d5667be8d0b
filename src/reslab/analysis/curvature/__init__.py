"""How the loss curves around a network's weights."""
