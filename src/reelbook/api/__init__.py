"""The public functions of the package: runs, sweeps, forms, tables and the library, with the current client."""

from ..util import registry

registry.register("reelbook.api.judging", "judge", "race", "start_race")
registry.register("reelbook.api.table_accessor", "Reel")
registry.register("reelbook.api.which_run", "find_input")
