import unittest

from bookshop.catalogue import Book, Catalogue

HARBOUR = Book("9780000000019", "The Long Harbour", "A. Novak", 1099)
ATLAS = Book("9780000000026", "Atlas of Small Rivers", "M. Okafor", 899)


class CatalogueTest(unittest.TestCase):
    def setUp(self):
        self.catalogue = Catalogue()
        self.catalogue.add(ATLAS)
        self.catalogue.add(HARBOUR)

    def test_a_book_is_found_by_its_isbn(self):
        self.assertEqual(self.catalogue.book(HARBOUR.isbn), HARBOUR)

    def test_an_unknown_isbn_is_an_error(self):
        with self.assertRaises(KeyError):
            self.catalogue.book("9780000000033")

    def test_titles_are_sorted(self):
        self.assertEqual(self.catalogue.titles(), ["Atlas of Small Rivers", "The Long Harbour"])
