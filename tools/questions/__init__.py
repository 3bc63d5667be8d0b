"""The questions of the page on measurements, one a module: what is asked of networks, and what the records say to it.

Numbers in sentences are read off the records. The words hold for the records that are here, which
tests/tools/test_questions.py checks for every comparison they make.
"""
