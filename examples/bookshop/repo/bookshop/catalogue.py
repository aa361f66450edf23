"""The books that can be bought."""

from dataclasses import dataclass
from typing import Dict, List


@dataclass(frozen=True)
class Book:
    """One title, with its price in cents before tax."""

    isbn: str
    title: str
    author: str
    price: int


class Catalogue:
    """All books by ISBN."""

    def __init__(self) -> None:
        self._books: Dict[str, Book] = {}

    def add(self, book: Book) -> None:
        """Take a book into the catalogue; the same ISBN replaces the earlier entry."""
        self._books[book.isbn] = book

    def book(self, isbn: str) -> Book:
        """The book with this ISBN. Raises KeyError."""
        return self._books[isbn]

    def titles(self) -> List[str]:
        """All titles in alphabetical order."""
        return sorted(book.title for book in self._books.values())
