"""Record `laconic watch` on a finished run as an animated SVG: make evidence-recording.

    recording.py outputs/recorded/run docs/pictures/watch.svg

The frames are screens of the real viewer, in which the keys of `SCENES` are pressed one after the
other.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from laconic.extras.viewer.app import Viewer

COLUMNS, LINES = 72, 38
"""Size of the terminal, narrow enough for a phone."""
SCENES: Sequence[tuple[str, float]] = (("", 6), ("]", 1), ("]", 7), ("g", 5))
"""Keys and the time for which the screen is shown, seconds.

They show the first episode before training, the same after it, and a training group.
"""
FONT = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


async def screens(folder: Path) -> list[str]:
    """Return an SVG of the screen after each key of `SCENES`."""
    app = Viewer(folder)
    pictures = []
    async with app.run_test(size=(COLUMNS, LINES)) as pilot:
        for key, _ in SCENES:
            if key:
                await pilot.press(key)
            await pilot.pause()
            pictures.append(app.export_screenshot(title=app.title))
    return pictures


def animate(pictures: Sequence[str], seconds: Sequence[float]) -> str:
    """Join SVGs of one size into one that shows each for its time, again and again.

    Without animation, the first is shown.
    """
    size = re.search(r'viewBox="([^"]+)"', pictures[0])
    if size is None:
        raise ValueError(f"expected an SVG with a viewBox; got {pictures[0][:80]!r}")
    whole, start = sum(seconds), 0.0
    styles, frames = [".frame { visibility: hidden } .frame-0 { visibility: visible }"], []
    for number, (picture, length) in enumerate(zip(pictures, seconds, strict=True)):
        low, high = 100 * start / whole, 100 * (start + length) / whole
        # A frame is hidden before its time, shown in it, and hidden after it.
        before = "0% { visibility: hidden } " if number else ""
        after = f" {high:.3f}% {{ visibility: hidden }}" if number + 1 < len(pictures) else ""
        shown = f"{low:.3f}% {{ visibility: visible }}"
        styles += [
            f"@keyframes show-{number} {{ {before}{shown}{after} }}",
            f".frame-{number} {{ animation: show-{number} {whole:g}s step-end infinite }}",
        ]
        inside = picture[picture.index(">", picture.index("<svg")) + 1 : picture.rindex("</svg>")]
        # The page needs no network: the font is the reader's own.
        inside = re.sub(r"@font-face \{.*?\}", "", inside, flags=re.S)
        inside = re.sub(r"font-family: ?Fira Code[^;]*;", f"font-family: {FONT};", inside)
        frames.append(f'<g class="frame frame-{number}">{inside.strip()}</g>')
        start += length
    styles.append("@media (prefers-reduced-motion: reduce) { .frame { animation: none } }")
    style = "\n".join(styles)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{size[1]}">'
    text = "\n".join([head, f"<style>{style}</style>", *frames, "</svg>", ""])
    return re.sub(r"[ \t]+$", "", re.sub(r"\n\s*\n+", "\n", text), flags=re.M)


def main() -> None:
    """Record the run of the command line."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder, target = map(Path, sys.argv[1:])
    pictures = asyncio.run(screens(folder.resolve()))
    target.write_text(animate(pictures, [seconds for _, seconds in SCENES]), "utf-8")
    print(f"{target}: {target.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
