import unittest

from station.readings import Reading, readings


class ReadingsTest(unittest.TestCase):
    def test_one_per_line(self):
        self.assertEqual(readings("2031-01-01 1.5\n2031-01-02 -4\n"), [
            Reading("2031-01-01", 1.5),
            Reading("2031-01-02", -4.0),
        ])

    def test_anything_else_is_an_error(self):
        with self.assertRaises(ValueError):
            readings("yesterday, cold")
