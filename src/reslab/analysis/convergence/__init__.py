"""How fast losses and errors fell in a run's training: laws fitted to each phase of constant rate; needs no weights."""
