"""A log file that is no reason for anything to stop. Apart from `log_file`, for `logging.handlers` loads slowly."""

import logging
import sys
from contextlib import suppress
from logging.handlers import WatchedFileHandler
from pathlib import Path


class PatientFileHandler(WatchedFileHandler):
    """Says once on stderr that it cannot write, and tries again with each line: a disk gets space, a folder comes back.

    The file may be moved away at any time, as logrotate does.
    """

    _said = False

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line if that is possible."""
        # Opening it anew raises, other than writing to it.
        try:
            Path(self.baseFilename).parent.mkdir(parents=True, exist_ok=True)
            super().emit(record)
        except OSError:
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002, N802 - named by logging
        """Say it once."""
        if not self._said:
            self._said = True
            with suppress(OSError):
                print(f"whilly: {self.baseFilename} cannot be written.", file=sys.stderr)  # noqa: T201
