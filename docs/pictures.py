"""Take a picture of each page of ``engram serve``, and of ``engram tui``, over a scripted memory: ``make pictures``."""

from __future__ import annotations

import argparse
import asyncio
import base64
import io
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from PIL import Image

from docs.picture_memory import NOW, Scene, scene, serving
from engram_py import Engram
from engram_py.base.settings import Settings
from engram_py.interfaces.web.access import Access
from tests.interfaces.web.browser import Browser, chromium

FOLDER = Path(__file__).parent / "pictures"
WIDTH, MOST_HEIGHT, COLOURS = 960, 1_080, 255
# The name of each picture and the page it shows; {name} is a row or the session of the scripted memory.
PAGES = {
    "search": "/ui/?q=why+did+we+move+the+job+queue&project=shop",
    "latest": "/ui/?project=shop",
    "memory": "/ui/memory/{tokens}",
    "edit": "/ui/memory/{tokens}/edit",
    "sessions": "/ui/given",
    "session": "/ui/session?id={session}",
    "ask": "/ui/ask?project=shop&prompt=Which+jobs+do+workers+lose+when+they+reconnect+to+the+queue%3F",
    "today": "/ui/today",
    "review": "/ui/review?project=shop",
    "worth": "/ui/worth",
    "new": "/ui/new?project=shop",
    "guards": "/ui/guards?project=shop",
    "entities": "/ui/entities?project=shop",
    "entity": "/ui/entities?project=shop&name=billing",
    "projects": "/ui/projects",
    "timeline": "/ui/timeline?project=shop",
    "settings": "/ui/settings",
    "upkeep": "/ui/upkeep",
}
# The pages that are shown in the dark as well.
DARK = ("search", "memory", "session")
# The name of each picture of the terminal, its size in cells, and the keys that were pressed; a text is typed.
SCREENS = {
    "tui": ((120, 40), ("j", "j", "j", "j", "j")),
    "tui-search": ((80, 24), ("3", "/", "why did we move the job queue", "enter")),
}


def take(folder: Path, room: Path, *, dark: bool = False, names: tuple[str, ...] = ()) -> list[Path]:
    """Take the pictures, or those of these names, and return their files. ``dark`` takes each in the dark as well."""
    folder.mkdir(parents=True, exist_ok=True)
    made = scene(room)
    with chromium(room / "profile") as browser, serving(made) as home:
        browser.open(f"{home}/ui/enter?token={Access(made.data_dir).link_token()}")
        pages = [
            _picture(browser, home, made, folder, name, theme)
            for theme in ("light", "dark")
            for name in PAGES
            if (not names or name in names) and (theme == "light" or dark or name in DARK)
        ]
        screens = [name for name in SCREENS if not names or name in names]
        return pages + [_screen(browser, made, room, folder, name) for name in screens]


def _picture(browser: Browser, home: str, made: Scene, folder: Path, name: str, theme: str) -> Path:
    browser.theme(theme)
    browser.open(home + PAGES[name].format(**made.rows, session=made.session))
    return _kept(browser, folder / (f"{name}-dark.png" if theme == "dark" else f"{name}.png"))


def _screen(browser: Browser, made: Scene, room: Path, folder: Path, name: str) -> Path:
    drawing = room / f"{name}.svg"
    drawing.write_text(asyncio.run(_drawn(made, *SCREENS[name])), encoding="utf-8")
    browser.open(drawing.as_uri())
    return _kept(browser, folder / f"{name}.png")


async def _drawn(made: Scene, size: tuple[int, int], keys: tuple[str, ...]) -> str:
    """Return the terminal's screen as SVG, once nothing is being read."""
    from engram_py.interfaces.tui.app import TerminalApp

    with Engram(settings=Settings(made.data_dir, clock=lambda: NOW), directory=made.repository) as app:
        terminal = TerminalApp(app, project="shop")
        async with terminal.run_test(size=size) as pilot:
            await pilot.pause(1)
            for key in keys:
                pressed = [key] if key in ("enter", "/") or len(key) == 1 else list(key)
                await pilot.press(*("slash" if one == "/" else "space" if one == " " else one for one in pressed))
                await terminal.workers.wait_for_complete()
            await pilot.pause(1)  # a preview follows the cursor when it rests
            return terminal.export_screenshot()


def _kept(browser: Browser, file: Path) -> Path:
    shown = Image.open(io.BytesIO(base64.b64decode(browser.picture(WIDTH, MOST_HEIGHT)))).convert("RGB")
    shown.quantize(COLOURS, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(
        file, optimize=True
    )  # a third of the bytes
    return file


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m docs.pictures", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"Of {', '.join([*PAGES, *SCREENS])}; default: all.")
    parser.add_argument("--to", type=Path, default=FOLDER, help="The folder that gets them (default: docs/pictures).")
    parser.add_argument("--dark", action="store_true", help="Take each of them in the dark as well.")
    given = parser.parse_args()
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        sys.exit("pictures need chromium and chromedriver (Debian: apt install chromium chromium-driver)")
    with TemporaryDirectory(prefix="engram-pictures-") as room:
        for file in take(given.to, Path(room), dark=given.dark, names=tuple(given.names)):
            click.echo(f"{file.stat().st_size / 1000:6.0f} kB  {file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
