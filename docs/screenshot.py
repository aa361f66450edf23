"""Takes the picture of the page for the README anew: `python docs/screenshot.py`. Needs Chromium and plays the demo."""

import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).resolve().parent / "images" / "demo.png"
LOGIN = re.compile(r"http://\S+/login/\S+")


def main() -> int:
    """Start the demo, wait until a task asks for a decision, take the picture, end the demo."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    command = [str(Path(sys.executable).with_name("whilly")), "demo"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as demo:
        try:
            lines = iter(demo.stdout or ())
            address = next(found[0] for line in lines if (found := LOGIN.search(line)))
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
                page = browser.new_page(viewport={"width": 1100, "height": 1010})
                page.goto(address)
                page.get_by_text("Approve").first.wait_for(timeout=60_000)
                page.screenshot(path=PICTURE)
                browser.close()
        finally:
            demo.send_signal(signal.SIGINT)
            demo.communicate(timeout=30)
    print(f"Written: {PICTURE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
