"""How fast training errors fall, by laws fitted to their curves."""
