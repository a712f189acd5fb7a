"""Common picture sizes by name."""

from __future__ import annotations

from collections.abc import Mapping

FORMATS: Mapping[str, Mapping[str, str]] = {
    "Posts": {
        "Square": "1080x1080",
        "Portrait 4:5": "1080x1350",
        "Story": "1080x1920",
        "Landscape post": "1080x566",
        "Link preview": "1200x630",
        "Pin": "1000x1500",
        "Video cover": "1280x720",
        "Page header": "1500x500",
    },
    "Screens": {
        "HD": "1280x720",
        "Full HD": "1920x1080",
        "Full HD, upright": "1080x1920",
        "Quad HD": "2560x1440",
        "Ultra HD (4K)": "3840x2160",
        "Ultrawide": "3440x1440",
        "Tablet": "2048x1536",
        "Phone": "1170x2532",
    },
    "Banners": {
        "Medium rectangle": "300x250",
        "Large rectangle": "336x280",
        "Half page": "300x600",
        "Skyscraper": "160x600",
        "Leaderboard": "728x90",
        "Billboard": "970x250",
        "Mobile banner": "320x50",
        "Large mobile banner": "320x100",
    },
    "Print": {
        "A4 at 150 dpi": "1240x1754",
        "A4 at 150 dpi, landscape": "1754x1240",
        "A4 at 300 dpi": "2480x3508",
        "A5 at 150 dpi": "874x1240",
        "Postcard (A6) at 300 dpi": "1240x1748",
        "Letter at 150 dpi": "1275x1650",
        "Photo 10 × 15 cm at 300 dpi": "1181x1772",
        "Photo 13 × 18 cm at 300 dpi": "1535x2126",
    },
    "Small": {
        "Thumbnail": "320x180",
        "Avatar": "400x400",
        "App icon": "512x512",
        "Favicon": "64x64",
    },
}
"""Width and height by name, in groups."""

_BY_NAME = {name.casefold(): size for group in FORMATS.values() for name, size in group.items()}


def find_format(name: str) -> str | None:
    """The size of a named format, ignoring case; None for an unknown name.

    >>> find_format("story"), find_format(" Full HD "), find_format("stories")
    ('1080x1920', '1920x1080', None)
    """
    return _BY_NAME.get(" ".join(name.split()).casefold())


def find_format_name(size: str) -> str | None:
    """The first named format of a size; None where no format has it.

    >>> find_format_name("1080x1920"), find_format_name("1x1")
    ('Story', None)
    """
    return next((name for group in FORMATS.values() for name, known in group.items() if known == size), None)
