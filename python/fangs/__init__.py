"""Anytime optimization of weighted constraint networks: solutions come down, proved bounds come up.

A network has variables with finite domains and functions that price combinations of their values; wanted is the
assignment of the least sum. ``Network`` builds one from tables, ``read`` reads one from a file, ``Network.solve``
starts a run, which is iterated over. Costs are in the unit of the tables, times in seconds.
"""

from ._errors import (
    Error,
    FileError,
    InternalError,
    ModelError,
    OutOfMemory,
    ParseError,
    Stopped,
    Unsupported,
    UsageError,
)
from ._fangs import (
    Bound,
    Dcop,
    Decision,
    Difference,
    Event,
    LargestSum,
    Marginals,
    Network,
    Picture,
    Priced,
    Result,
    Run,
    Solutions,
    __version__,
    decide,
    read,
    reads,
)
from ._notebook import watch
from .bayes import from_pgmpy, from_pyagrum

__all__ = [
    "Bound",
    "Dcop",
    "Decision",
    "Difference",
    "Error",
    "Event",
    "FileError",
    "InternalError",
    "LargestSum",
    "Marginals",
    "ModelError",
    "Network",
    "OutOfMemory",
    "ParseError",
    "Picture",
    "Priced",
    "Result",
    "Run",
    "Solutions",
    "Stopped",
    "Unsupported",
    "UsageError",
    "__version__",
    "decide",
    "from_pgmpy",
    "from_pyagrum",
    "read",
    "reads",
    "watch",
]
