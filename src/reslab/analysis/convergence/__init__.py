"""How fast the losses and errors of a training fell, by laws fitted to its log; needs no weights."""
