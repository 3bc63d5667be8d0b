"""The schedule, the optimizer, the one loop and its checkpoints."""
