"""`rb.read` and `rb.strip`: stored tables, and the frames of a clip as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..session import session

if TYPE_CHECKING:
    import pandas as pd
    from datasets import Dataset
    from PIL.Image import Image

    from ..media.local_file import LocalFile
    from ..runs.run import Run


def read(path: str | Path | Dataset, *, folder: str | Path = "clips") -> pd.DataFrame:
    """Read a table of runs from a `.parquet` or `.csv` file, or from a dataset of Hugging Face's `datasets`, with its `.reel`.

    Files that a dataset holds inside itself are written into the folder, each named by the hash of its content.
    """
    session.register_table_accessor()
    if hasattr(path, "with_format"):
        from .hugging_face import from_dataset

        return from_dataset(path, Path(folder))
    from ..sweeps.results.table_files import read_table

    return read_table(path)


def strip(
    run_or_file: Run | LocalFile | str | Path | pd.DataFrame | pd.Series[Any], *, frames: int = 6, width: int = 1600
) -> Image:
    """Draw frames of a clip side by side, with times and a caption; for a run of pictures, all of them.

    Accepts a run, a file or its path, a row of any table of runs such as `table.loc[[7]]`, or a request id.
    """
    from ..display.sheets import draw_strip
    from .which_run import find_run_or_file

    return draw_strip(find_run_or_file(run_or_file, "rb.strip"), frames=frames, width=width)
