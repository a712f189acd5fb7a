"""`python -m reelbook` is the command `reelbook`."""

from .cli import main

raise SystemExit(main())
