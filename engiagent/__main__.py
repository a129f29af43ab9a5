"""``python -m engiagent`` is the ``engiagent`` command."""

from engiagent.cli import main

if __name__ == "__main__":
    main()
