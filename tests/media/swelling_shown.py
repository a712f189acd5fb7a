"""Shows files one after the other and says what memory that took; a process of its own, whose peak is nobody else's."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

from PIL import Image

from reelbook.display.figure import file_figure
from reelbook.display.strips import strip_jpeg
from reelbook.errors import ReelbookError
from reelbook.media.posters import get_poster, get_posters
from reelbook.media.previews import get_preview
from tests.clips import at, film
from tests.support import peak_mib


def main(folder: Path) -> None:
    """One line for each file: its name, its size as it is listed, the growth so far, and what the figure says."""
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    Path(folder / "warm").mkdir()
    warm = film(folder / "warm" / "clip.mp4", size=(640, 360))
    file_figure(warm), strip_jpeg(warm), get_preview(warm.path)
    before = peak_mib()
    paths = sorted(path for path in folder.iterdir() if path.is_file())
    for path in paths:
        file = at(path)
        has_poster = get_poster(path) is not None
        html = file_figure(file)
        try:
            strip_jpeg(file)
        except ReelbookError:
            has_poster = False
        saved = file.save(folder / "warm" / path.name).read_bytes() == path.read_bytes()
        size = file.probe.width, file.probe.height
        told = "too large to show here" in html and path.name in html
        print(json.dumps([path.name, size, peak_mib() - before, has_poster, told, saved]), flush=True)
    # Several at the same time, as a table does.
    get_posters(paths), [file_figure(at(path), many=True) for path in paths]
    print(json.dumps(["together", (0, 0), peak_mib() - before, True, False, True]), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
