"""Speed claims: ours beside a peer in the same run, printed as ratios."""
