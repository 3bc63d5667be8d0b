"""How far each block is from the identity: what it adds, relative to what it is given."""
