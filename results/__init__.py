"""Records of runs, and the scripts that bring them home, tell them and ship their weights."""
