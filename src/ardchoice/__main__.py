"""`python -m ardchoice`: the command line."""

from ardchoice.cli import main

if __name__ == "__main__":
    main()
