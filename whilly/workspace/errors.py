"""What can go wrong with a workspace; each text is one sentence fit to be shown.

WhillyError
├── WorkspaceFailed         the private clone could not be prepared, read, published or removed
│   ├── RepositoryUnusable  because of the user's repository: no task of its plan can be worked on as it is
│   ├── RemoteFailed        because of a repository elsewhere: not reachable, unknown, or it refuses us
│   └── GitFailed           because of a git command; the text ends with git's own sentence
├── MergeConflict           the results that a task builds on contradict each other or its base
└── NoSpace                 the disk has too little room
"""

from enum import Enum

from whilly.core.errors import WhillyError


class WorkspaceFailed(WhillyError):
    """The private clone could not be prepared, read, published or removed."""


class RepositoryUnusable(WorkspaceFailed):
    """The user's repository is not there or not as it must be: what one task met, every other would meet as well."""


class Trouble(Enum):
    """What is the matter with a repository elsewhere."""

    UNREACHABLE = "its host does not answer, or not as it should"
    CREDENTIALS = "it wants other credentials"
    UNKNOWN = "there is no such repository"
    NOT_ALLOWED = "it does not take what is pushed"
    TAKEN = "the branch has somebody else's commits"
    ADDRESS = "its address cannot be used here"
    OTHER = "git says something else"


class RemoteFailed(WorkspaceFailed):
    """A repository elsewhere could not be fetched from or pushed to; other tasks would meet the same."""

    def __init__(self, message: str, trouble: Trouble = Trouble.OTHER, *, retry_seconds: float = 60) -> None:
        super().__init__(message)
        self.trouble = trouble
        self.retry_seconds = retry_seconds
        """When to try again at the earliest."""


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
