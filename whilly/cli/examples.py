"""Where the example plans are: beside the package in a checkout, inside it in a wheel."""

from pathlib import Path

import whilly


def example(name: str) -> Path:
    """The folder of an example, with its `tasks.json`, `script.json` and `repo/`. Raises FileNotFoundError."""
    package = Path(whilly.__file__).parent
    for folder in (package / "examples" / name, package.parent / "examples" / name):
        if (folder / "tasks.json").is_file():
            return folder
    raise FileNotFoundError(f"Whilly was installed without its example {name!r}; install it again.")
