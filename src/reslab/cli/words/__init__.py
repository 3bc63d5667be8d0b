"""The words of a command: subjects and fields."""
