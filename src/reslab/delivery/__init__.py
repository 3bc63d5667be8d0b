"""Trained networks put to use: guesses about photographs, files for other runtimes, features for other tasks."""
