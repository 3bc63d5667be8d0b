"""Photographs in files: folders of them, one way to decode them, and batches of their crops."""
