"""`python -m laconic` is the command `laconic`."""

from laconic.experiments.command_line.console import main

if __name__ == "__main__":
    main()
