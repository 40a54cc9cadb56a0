"""`python -m groundling`: the command, wherever the interpreter is."""

from groundling.cli import main

if __name__ == "__main__":
    main()
