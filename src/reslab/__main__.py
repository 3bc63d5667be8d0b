"""`python -m reslab`, which torchrun needs."""

from reslab.cli import main

main()
