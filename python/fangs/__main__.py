"""The command ``fangs``, also as ``python -m fangs``."""

import sys
from typing import NoReturn

from ._fangs import command


def main() -> NoReturn:
    """Run the command with the arguments of this process."""
    command(["fangs", *sys.argv[1:]], [sys.executable, "-m", "fangs"])


if __name__ == "__main__":
    main()
