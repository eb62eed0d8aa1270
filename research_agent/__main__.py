"""``python -m research_agent``."""

from research_agent.cli.main import main

if __name__ == "__main__":
    main()
