"""`python -m ardchoice`: the command line."""

from ardchoice.cli import main

main()
