"""The exceptions and the warning of the interface of pytoulbar2."""

from __future__ import annotations

from .._errors import Unsupported


class Contradiction(Exception):
    """The problem has no solution below the upper bound."""


class SolverOut(Exception):
    """A time limit was reached before the search was complete."""


class Missing(Unsupported, AttributeError):
    """A name of pytoulbar2 that has no counterpart here."""


class SearchOption(UserWarning):
    """An option that controls toulbar2's own search was set, and has no effect."""
