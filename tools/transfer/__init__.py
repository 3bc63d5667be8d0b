"""The page on transfer, a section a module: what benchmarks/finetune.py, `reslab probe` and runs from scratch recorded.

Numbers in sentences are read off the records, and comparisons are made of them.
"""
