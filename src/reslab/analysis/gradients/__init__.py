"""Norms and variances of the gradients of every layer, and how far they agree between batches and inputs."""
