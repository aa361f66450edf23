from whilly.worker.plain import newest_line, shortened


def test_shortening_keeps_both_ends_and_counts_the_middle() -> None:
    short = shortened("a" * 60 + "b" * 60, 100)
    assert short == "a" * 50 + "\n[… 20 characters left out …]\n" + "b" * 50
    assert shortened("as it is", 100) == "as it is"


def test_the_newest_line_is_the_last_one_with_something_to_read() -> None:
    assert newest_line("first\nediting \x1b[32mlogin.py\x1b[0m\n\n   \n\x1b[0m\n") == "editing login.py"
    assert newest_line("\n\n") == ""
    assert len(newest_line("x" * 5000)) == 160
