"""The exceptions of the package."""

from __future__ import annotations


class Error(Exception):
    """The base of all exceptions of this package."""


class ParseError(Error, ValueError):
    """A file that departs from its format.

    Attributes:
        file: the file as it was named.
        line: the line, from 1.
        column: the column, from 1.
        found: the text at this position.
        expected: what was expected.
        hint: further advice, or None.
    """

    def __init__(
        self, message: str, file: str, line: int, column: int, found: str, expected: str, hint: str | None = None
    ) -> None:
        super().__init__(message, file, line, column, found, expected, hint)
        self.file = file
        self.line = line
        self.column = column
        self.found = found
        self.expected = expected
        self.hint = hint

    def __str__(self) -> str:
        return str(self.args[0])


class FileError(Error, OSError):
    """A file that cannot be read or written."""


class ModelError(Error, ValueError):
    """A network that cannot be built."""


class UsageError(Error, ValueError):
    """Arguments that do not fit together or do not fit the network."""


class Unsupported(Error, NotImplementedError):
    """A part of another package's model that a network of cost functions cannot express."""


class OutOfMemory(Error, MemoryError):
    """Tables that exceed the memory."""


class Stopped(Error):
    """The time limit was reached before there was a result."""


class InternalError(Error, RuntimeError):
    """A fault of Fangs: a cost or a bound that does not agree with its recomputation."""
