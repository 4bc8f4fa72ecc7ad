"""Runs in notebooks."""

from __future__ import annotations

import time

from ._fangs import Result, Run


def watch(run: Run, every: float = 1.0) -> Result:
    """Waits for the end of a run and, in a notebook, redraws its chart meanwhile.

    Args:
        run: a run that has started.
        every: seconds between two drawings.

    Returns:
        The result of the run. An interrupt ends the run, and ``run.result()`` then returns the best solution.
    """
    try:
        from IPython.display import display
    except ImportError:
        return run.result()
    handle = display(run, display_id=True)
    drawn = time.monotonic()
    try:
        for _ in run:
            if handle is not None and time.monotonic() - drawn >= every:
                handle.update(run)
                drawn = time.monotonic()
    finally:
        if handle is not None:
            handle.update(run)
    return run.result()
