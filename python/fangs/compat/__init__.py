"""The interface of pytoulbar2: scripts run with ``import fangs.compat as pytoulbar2``.

The classes have pytoulbar2's methods, arguments and results. What controls toulbar2's own search, or has no
counterpart, is refused by name; docs/python.md lists the differences.
"""

from __future__ import annotations

from ._cfn import CFN
from ._errors import Contradiction, Missing, SearchOption, SolverOut
from ._multi import MultiCFN
from ._option import Option

__all__ = ["CFN", "Contradiction", "Missing", "MultiCFN", "Option", "SearchOption", "SolverOut"]
