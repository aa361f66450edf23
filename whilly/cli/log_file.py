"""The log file of Whilly's own processes, for those who name a folder for it."""

import logging
from pathlib import Path

from whilly.core.errors import BadSetting

_LINE = "%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"


def write_log_to(folder: Path) -> None:
    """Append what Whilly has to say about its own work to `whilly.log` there; several processes may share it.

    Raises BadSetting for a folder that cannot be written.
    """
    # Half of what a small command costs, and few want it.
    from whilly.cli.log_handler import PatientFileHandler

    logger = logging.getLogger("whilly")
    if any(isinstance(handler, PatientFileHandler) for handler in logger.handlers):
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handler = PatientFileHandler(folder / "whilly.log", encoding="utf-8")
    except OSError as problem:
        raise BadSetting(f"WHILLY_LOG_DIR cannot be used: {problem}; name a folder that you may write to.") from None
    handler.setFormatter(logging.Formatter(_LINE))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
