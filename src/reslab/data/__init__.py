"""Datasets as plain arrays, and batches of them."""
