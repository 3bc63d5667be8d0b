"""Run directories and claims become verdicts, figures and pages; no torch here."""
