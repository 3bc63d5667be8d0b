"""What shortcuts and branches carry at each addition, forward and backward; how far gates are open."""
