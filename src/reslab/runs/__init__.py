"""The record of runs, as plain files; no torch here."""
