"""Anytime optimization of weighted constraint networks: the incumbent's cost falls and the lower bound rises.

A network has variables with finite domains and cost functions on them; the task is to find the assignment with the
least sum of costs. ``Network`` builds a network from tables, ``read`` reads one from a file, ``Network.solve`` starts a
run, which is iterated over. Costs are in the unit of the tables, times in seconds.
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
from .bayes import decide_pyagrum, from_pgmpy, from_pyagrum

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
    "decide_pyagrum",
    "from_pgmpy",
    "from_pyagrum",
    "read",
    "reads",
    "watch",
]
