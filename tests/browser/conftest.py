"""A real Chromium in front of the real server."""

import os
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
from playwright.async_api import BrowserContext, Page, async_playwright

from tests.control_plane import Server, running_server
from whilly.operations.log_in import issue_login
from whilly.server.serve import serving
from whilly.store.database import Database

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@dataclass
class Visitor:
    """A browser, and what it saw that it should not have seen."""

    server: Server
    address: str
    context: BrowserContext
    complaints: list[str] = field(default_factory=list)
    """Dialogs, script errors, refusals by the content security policy."""
    requests: list[str] = field(default_factory=list)

    async def page(self) -> Page:
        page = await self.context.new_page()
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("console", lambda message: self.complaints.append(f"console: {message.text}"))
        page.on("request", lambda request: self.requests.append(request.url))
        return page

    async def log_in(self) -> Page:
        page = await self.page()
        await page.goto(f"{self.address}/login/{await issue_login(self.server.database, 'ada')}")
        await page.wait_for_url(f"{self.address}/")
        return page


@pytest.fixture
async def server(database: Database) -> AsyncIterator[Server]:
    async with running_server(database) as running:
        yield running


@pytest.fixture
async def visitor(server: Server) -> AsyncIterator[Visitor]:
    if CHROMIUM is None:
        pytest.skip("there is no Chromium here")
    arguments = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    async with async_playwright() as playwright, serving(server.app) as address:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        context = await browser.new_context(viewport={"width": 1280, "height": 900})
        try:
            yield Visitor(server, address, context)
        finally:
            await browser.close()
