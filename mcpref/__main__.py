"""``python -m mcpref`` is the command ``mcpref``."""

from .cli import main

if __name__ == "__main__":
    main()
