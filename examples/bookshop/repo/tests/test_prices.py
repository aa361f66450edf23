import unittest

from bookshop.prices import shown


class ShownTest(unittest.TestCase):
    def test_two_digits_after_the_point(self):
        self.assertEqual(shown(1250), "12.50")
