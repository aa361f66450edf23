"""What can go wrong with a workspace; each text is one sentence fit to be shown.

WhillyError
├── WorkspaceFailed         the private clone could not be prepared, read, published or removed
│   ├── RepositoryUnusable  because of the user's repository: no task of its plan can be worked on as it is
│   └── GitFailed           because of a git command; the text ends with git's own sentence
├── MergeConflict           the results that a task builds on contradict each other or its base
└── NoSpace                 the disk has too little room
"""

from whilly.core.errors import WhillyError


class WorkspaceFailed(WhillyError):
    """The private clone could not be prepared, read, published or removed."""


class RepositoryUnusable(WorkspaceFailed):
    """The user's repository is not there or not as it must be: what one task met, every other would meet as well."""


class GitFailed(WorkspaceFailed):
    """A git command did not do what was asked of it."""

    def __init__(self, message: str, *, command: str = "", said: str = "") -> None:
        super().__init__(message)
        self.command = command
        """The git subcommand: `index-pack`."""
        self.said = said
        """All that it wrote to its standard error."""


class MergeConflict(WhillyError):
    """The results that a task builds on contradict each other or its base."""

    def __init__(self, what: str, files: tuple[str, ...]) -> None:
        shown = ", ".join(files[:10]) + (f" and {len(files) - 10} more" if len(files) > 10 else "")
        super().__init__(f"{what} conflicts with what it is to be merged with, in {shown or 'files unknown'}.")
        self.files = files
        """Paths from the top of the repository."""


class NoSpace(WhillyError):
    """The disk has too little room; the text has the figures."""
