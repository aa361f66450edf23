"""How long the texts of a request may be, in characters. Longer ones are refused before anything is done."""

from typing import Annotated

from pydantic import Field

Name = Annotated[str, Field(max_length=256)]
"""An id, a name, a version."""

Sentence = Annotated[str, Field(max_length=2_048)]
"""A reason."""

Words = Annotated[str, Field(max_length=8_192)]
"""A comment or a description."""
