"""The command line: serve, class, weights, models, estimate, run, sweep, library and doctor."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import shtab

from ._version import __version__
from .errors import ReelbookError, UncertainRun
from .models.base import Input
from .models.catalog import CATALOG, estimate, get_endpoint, read_rates
from .util.printable import printable, readable_id

if TYPE_CHECKING:
    import pandas as pd

    from reelbook_service.class_admin import Student
    from reelbook_service.server import Server
    from reelbook_service.service_settings import Settings

UNCERTAIN = 3
"""The exit status if a run may have been charged and its answer was lost: a script must not simply try again."""
INTERRUPTED = 130
"""The exit status of an interrupted command, as shells expect it."""
PIPE_CLOSED = 141
"""The exit status of a command whose output nobody reads any more, as shells expect it."""
EXIT_CODES = """exit status: 0 all is well; 1 an error, or a run that did not complete; 2 wrong arguments;
3 a run whose answer was lost, and which may have been charged; 130 interrupted;
141 nobody reads its output any more"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command given by the arguments and return the exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    with exit_on_sigterm():
        try:
            status = int(options.command(options))
            print(end="", flush=True)
            return status
        except ReelbookError as error:
            print(f"reelbook: {error}", file=sys.stderr)
            return UNCERTAIN if isinstance(error, UncertainRun) else 1
        except BrokenPipeError:  # Whoever reads the output has seen enough, such as `head`.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return PIPE_CLOSED
        except KeyboardInterrupt as stop:
            if str(stop):  # Says what continues at the service and how to resume it.
                print(f"reelbook: {stop}", file=sys.stderr)
            return INTERRUPTED


@contextlib.contextmanager
def exit_on_sigterm() -> Iterator[None]:
    """Raise `SystemExit` on SIGTERM during the block, unless another handler is installed."""
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def leave(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGTERM) is leave:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _parser() -> argparse.ArgumentParser:
    from reelbook_service.class_command import add_class_command
    from reelbook_service.weights.fetch import add_weights_command

    parser = argparse.ArgumentParser(
        prog="reelbook", description="Videos and images from hosted models, in notebooks.", epilog=EXIT_CODES
    )
    parser.add_argument("--version", action="version", version=f"reelbook {__version__}")
    shtab.add_argument_to(parser, help="print a completion script for this shell, to source in its profile")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    serve = commands.add_parser("serve", help="run a service on this machine, for you or for a class")
    serve.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default %(default)s: this machine only)"
    )
    serve.add_argument(
        "--port", type=int, default=8600, help="port to listen on, 0 for a free one (default %(default)s)"
    )
    serve.add_argument("--data", type=Path, help="folder of its database and files (default: your user data folder)")
    serve.add_argument(
        "--key",
        help="the key of the account `default` (default: generated and printed once, unless runs cost real credits)",
    )
    serve.add_argument(
        "--accounts", type=Path, help="CSV of accounts to add: name[,group][,budget][,key][,permissions]"
    )
    serve.add_argument("--budget", help="credits for each new account without a budget of its own")
    serve.add_argument("--reset", action="store_true", help="let --accounts change accounts that exist already")
    serve.add_argument("--rates", type=Path, help="TOML file of per-unit rates, which replace the usual prices")
    serve.add_argument("--models", type=Path, help="TOML file that says what runs each model")
    serve.add_argument("--retention", type=float, metavar="DAYS", help="how long files are kept (default 7 days)")
    serve.add_argument("--workers", type=int, help="runs in progress at a time (default: number of cores, at most 4)")
    serve.add_argument(
        "--name", action="append", default=[], help="a host name of this machine that clients use; repeatable"
    )
    serve.add_argument("--spec-only", action="store_true", help="offer only what the specification has")
    serve.add_argument("--quiet", action="store_true", help="print nothing but new keys")
    serve.set_defaults(command=_serve)

    add_class_command(commands)
    add_weights_command(commands)

    models = commands.add_parser("models", help="list the models and their prices")
    models.add_argument("--service", metavar="URL", help="also show what runs each model at this service")
    models.set_defaults(command=_models)

    estimate = commands.add_parser("estimate", help="show what a run costs")
    estimate.add_argument("model", help="a model id, such as svc/text-to-video-13b-distilled")
    estimate.add_argument("input", help="the input as JSON, or - to read it from standard input")
    estimate.add_argument("--rates", type=Path, help="TOML file of per-unit rates, which replace the usual prices")
    estimate.set_defaults(command=_estimate)

    run = commands.add_parser("run", help="run a model and print where its files are")
    run.add_argument("model", help="a model id")
    run.add_argument("input", help="the input as JSON, or - to read it from standard input")
    run.set_defaults(command=_run)

    sweep = commands.add_parser("sweep", help="run a plan written by plan.to_toml(file), under a budget")
    sweep.add_argument("file", type=Path, help="the plan")
    sweep.add_argument(
        "--budget", type=int, help="the most credits that its runs may cost in total, earlier payments included"
    )
    sweep.add_argument(
        "--spend", type=int, help="the most credits that may be paid now; without either, only the price is shown"
    )
    sweep.add_argument("--out", type=Path, help="write the table there: .csv or .parquet")
    sweep.set_defaults(command=_sweep)

    library = commands.add_parser("library", help="list the runs of this library, check their files, export them")
    library.add_argument(
        "folder", nargs="*", metavar="[rebuild] [folder]",
        help="the library's folder (default: the nearest .reelbook); `rebuild` before it repairs a damaged ledger",
    )  # fmt: skip
    library.add_argument("--find", metavar="TEXT", help="only runs whose prompt contains this text")
    library.add_argument(
        "--run", metavar="REQUEST", action="append", help="only the run of this request id; repeatable"
    )
    library.add_argument("--verify", action="store_true", help="check every file and list the damaged ones")
    library.add_argument("--export", metavar="FOLDER", type=Path, help="copy the files there under readable names")
    library.set_defaults(command=_library)

    doctor = commands.add_parser("doctor", help="check this installation, the embedded service and one small run")
    doctor.add_argument(
        "file",
        type=Path,
        nargs="?",
        metavar="MODELS.TOML",
        help="check this models.toml instead, at no cost: keys, services, weights, their devices and a short clip",
    )
    doctor.add_argument("--deep", action="store_true", help="also compare the hash of every weights file")
    doctor.set_defaults(command=_doctor)
    for command in (models, estimate, run, sweep, library, doctor):
        command.add_argument("--json", action="store_true", help="print one JSON document, for other programs")
    return parser


def _print_json(document: object) -> None:
    print(json.dumps(document, indent=2, default=str))


def _serve(options: argparse.Namespace) -> int:
    from reelbook_service.class_admin import read_list
    from reelbook_service.server import Server, bind_socket

    settings = _settings(options)
    students = read_list(options.accounts, budget=_budget(options, settings)) if options.accounts else []
    if options.key and _budget(options, settings) is None:
        raise ReelbookError(
            "Some runs are paid for at another service, so say how many credits the account `default` may spend: --key KEY --budget CREDITS."
        )
    try:
        listening = bind_socket(options.host, options.port)
    except (OSError, OverflowError) as error:
        print(
            f"reelbook: cannot listen on {options.host}:{options.port} ({error}). Choose another --port.",
            file=sys.stderr,
        )
        return 1
    server = Server(settings, listening)
    keys, sentence = _open_accounts(options, server, students)
    # Before the address is printed. The server handles signals itself while it serves and re-raises them when it ends.
    signal.signal(signal.SIGTERM, lambda number, frame: server.stop())
    _announce(options, server, keys, sentence)
    server.serve()
    return 0


def _settings(options: argparse.Namespace) -> Settings:
    from reelbook_service.service_settings import Settings, default_data

    data = options.data or default_data()
    settings = Settings(data=data, spec_only=options.spec_only, hosts=tuple(name.lower() for name in options.name))
    settings = replace(settings, has_board=not options.spec_only)
    if options.rates:
        settings = replace(settings, rates=read_rates(options.rates))
    if options.models:
        from reelbook_service.hosted.models_file import make_lane_table, read_models_file

        settings = replace(settings, lanes=make_lane_table(read_models_file(options.models)))
    if options.retention is not None:
        settings = replace(settings, retention=options.retention * 24 * 3600)
    if options.workers is not None:
        settings = replace(settings, workers=max(1, options.workers))
    return settings


def _open_accounts(
    options: argparse.Namespace, server: Server, students: Sequence[Student]
) -> tuple[Mapping[str, str], str]:
    """Make the accounts of the arguments; returns the keys that were made, and a sentence about those there already."""
    from reelbook_service.accounts import NewAccount, new_key
    from reelbook_service.class_admin import add

    service, budget = server.service, _budget(options, server.service.settings)
    keys, sentence = {}, ""
    if students:
        now = service.settings.clock()
        added, sentence = service.store.submit(lambda db: add(db, now, students, reset=options.reset)).result()
        typed = {student.name for student in students if student.key}
        keys = {key.name: key.key for key in added if key.name not in typed}
    if options.key:
        service.accounts.open([NewAccount("default", options.key, budget or 0)])
    elif not (students or service.accounts.has_some() or service.settings.lanes.has_elsewhere):
        keys = {"default": new_key()}
        service.accounts.open([NewAccount("default", keys["default"], budget or 0)])
    if not service.accounts.has_some():
        sentence = (
            f"No accounts yet. Add some: reelbook class add names.csv --budget 530 --data {service.settings.data}"
        )
    elif not (keys or students or options.key):
        sentence = "Accounts and keys are unchanged since the last start."
    return keys, sentence


def _budget(options: argparse.Namespace, settings: Settings) -> int | None:
    """The credits of a new account; None where runs are paid for elsewhere and nobody has said how many."""
    from reelbook_service.class_admin import read_count
    from reelbook_service.spec_decisions import DEFAULT_GRANT

    if options.budget is not None:
        return read_count(options.budget, "--budget ")
    return None if settings.lanes.has_elsewhere else DEFAULT_GRANT


def _announce(options: argparse.Namespace, server: Server, keys: Mapping[str, str], sentence: str) -> None:
    from reelbook_service.class_admin import read_board_token
    from reelbook_service.key_sheet import board_link, reachable_address
    from reelbook_service.lanes import DASK, is_on_this_machine

    if not options.quiet:
        # No other computer can call 0.0.0.0.
        address = reachable_address(server.base_url)
        print(f"Reelbook service at {address}\n  docs   {address}/docs\n  data   {server.service.settings.data}")
        for model, lane in server.service.settings.lanes.by_model.items():
            where = "on this machine" if is_on_this_machine(lane) and DASK not in lane else "on another machine"
            print(f"  {model} runs {where}: {server.service.settings.lanes.labels[lane]}")
        if server.service.settings.has_board:
            print(f"  board  {board_link(address, server.service.store.submit(read_board_token).result())}")
        if options.spec_only:
            print("  It offers only what the specification has.")
    for name, key in keys.items():
        print(printable(f"  key    {key}   (account {name}; shown only now)"))
    if sentence and not options.quiet:
        print(printable(f"  {sentence}"))
    sys.stdout.flush()


def _models(options: argparse.Namespace) -> int:
    width = max(len(row.id) for row in CATALOG)
    info = _service_info(options.service) if options.service else {}
    if options.json:
        engines = info.get("engines", {})
        _print_json(
            [
                {"id": row.id, "credits": row.base_credits, "purpose": row.purpose, "engine": engines.get(row.id)}
                for row in CATALOG
            ]
        )
        return 0
    for row in CATALOG:
        print(f"{row.id:{width}}  {row.base_credits:>4} credits  {row.purpose}")
        if engine := info.get("engines", {}).get(row.id):
            print(printable(f"{'':{width}}  {engine}"))
    return 0


def _service_info(address: str) -> dict[str, Any]:
    """What the service at this address says of itself."""
    import httpx

    try:
        info = httpx.get(address, timeout=10.0).raise_for_status().json()
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise ReelbookError(f"The service at {address} does not say what it is ({error}).") from None
    return info if isinstance(info, dict) else {}


def _estimate(options: argparse.Namespace) -> int:
    price = estimate(_input(options), read_rates(options.rates) if options.rates else None)
    if options.json:
        _print_json({"credits": price.credits, "source": price.source, "breakdown": list(price.breakdown)})
        return 0
    for line in price.breakdown:
        print(f"  {line}")
    print(f"{price.credits} credits ({price.source}, from the built-in catalog; the service's own price counts)")
    return 0


def _run(options: argparse.Namespace) -> int:
    from . import run
    from .display.formatting import format_credits

    done = run(_input(options))
    if options.json:
        import pandas as pd

        (row,) = _records(pd.DataFrame([done.row]))
        _print_json(row)
        return 0
    for file in done.media:
        print(file.path)
    cost = "credits unknown" if done.credits is None else f"{format_credits(done.credits)} ({done.credits_source})"
    earlier = ", paid earlier; nothing now" if done.from_library else ""
    print(printable(f"{cost}{earlier}, request {readable_id(done.request_id)}"), file=sys.stderr)
    return 0


def _sweep(options: argparse.Namespace) -> int:
    from .sweeps.plan import sweep

    plan = sweep.read(options.file)
    if not options.json:
        print(plan)
    if options.budget is None and options.spend is None:
        if options.json:
            _print_json({"runs": len(plan), "credits": plan.credits, "credits_due": plan.credits_due})
            return 0
        print(
            f"Nothing was sent. To run it, say the most that may be paid now, such as --spend {plan.credits_due or 0}, "
            f"or the most that its runs may cost together, such as --budget {plan.credits or 0}."
        )
        return 0
    if options.out and options.out.suffix not in (".csv", ".parquet"):
        raise ReelbookError(
            f"The table can be written as .csv or .parquet, not as {options.out.name}. Nothing was sent."
        )
    table = plan.run(budget=options.budget, spend=options.spend)
    if options.out:
        table.to_csv(options.out) if options.out.suffix == ".csv" else table.to_parquet(options.out)
        print(options.out, file=sys.stderr if options.json else sys.stdout)
    counts = table["status"].value_counts()
    if options.json:
        _print_json(_records(table))
    else:
        print(", ".join(f"{count:,} {status}" for status, count in counts.items() if count))
    if counts.get("uncertain", 0):
        return UNCERTAIN
    return 0 if counts.get("completed", 0) == len(table) else 1


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table as JSON objects; what is missing is null."""
    records: list[dict[str, Any]] = json.loads(frame.to_json(orient="records", date_format="iso"))
    return records


def _library(options: argparse.Namespace) -> int:
    from .api.library import library
    from .storage.ledger.writer import rebuild_ledger
    from .storage.library_folder import NAME, library_folder

    is_rebuild = options.folder[:1] == ["rebuild"]
    words = options.folder[1:] if is_rebuild else options.folder
    if len(words) > 1:
        raise ReelbookError(f"Name one folder, and not {len(words)}.")
    folder = Path(words[0]) if words else None
    if is_rebuild:
        folder = folder or library_folder()
        print(rebuild_ledger(folder / NAME if (folder / NAME).is_dir() else folder))
        return 0
    opened = library(folder)
    frame = opened.find(prompt=options.find) if options.find else opened.frame
    if options.run:
        frame = frame[frame.index.isin([entry.id for entry in opened.entries(options.run) if entry is not None])]
    if options.verify:
        print(opened.verify(frame if options.run or options.find else None))
        return 0
    if options.export:
        print(opened.export(options.export, where=frame))
        return 0
    if options.json:
        _print_json(_records(frame))
        return 0
    columns = [name for name in ("model", "prompt", "seed", "status", "credits", "request_id") if name in frame.columns]
    print(printable(frame[columns].to_string(max_colwidth=40)) if len(frame) else "Nothing was run here yet.")
    for run in opened.uncertain:
        print(printable(str(run)))
    return 0


def _input(options: argparse.Namespace) -> Input:
    try:
        values = json.loads(sys.stdin.read() if options.input == "-" else options.input)
    except (ValueError, RecursionError) as error:
        raise ReelbookError(f"The input is not well-formed JSON: {error}.") from None
    if not isinstance(values, dict):
        raise ReelbookError('The input must be a JSON object, such as {"prompt": "a paper boat"}.')
    return get_endpoint(options.model).input(**values)


def _doctor(options: argparse.Namespace) -> int:
    """Run the checks of `doctor`, print each result, and return the exit status."""
    from .doctor import check_models_file, run_checks

    findings = check_models_file(options.file, deep=options.deep) if options.file else run_checks()
    healthy = True
    checks = []
    for good, what in findings:
        checks.append({"ok": good, "what": what})
        if not options.json:
            print(printable(f"{'ok ' if good else 'BAD'}  {what}"), flush=True)
        healthy = healthy and good
    if options.json:
        _print_json(checks)
    return 0 if healthy else 1
