"""Loss and error around trained weights, or along their training (Li et al., 2018)."""
