"""The pages of the board as HTML: the login, the board itself, and those before and after keys are replaced."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

from markupsafe import Markup
from starlette.responses import HTMLResponse

from reelbook.util.printable import format_count, format_line

from ..class_admin import NewKey
from ..class_report import ClassRow, LastResult
from ..key_sheet import connect_line, format_unreachable
from .board_feed import BoardFeed

FOLDER = Path(__file__).parent
STYLE = Markup((FOLDER / "board.css").read_text(encoding="utf-8"))
SCRIPT = Markup((FOLDER / "board.js").read_text(encoding="utf-8"))
COLUMNS = ("credits", "runs", "failures", "result", "state")
HEADINGS = ("Credits", "Runs", "Errors", "Latest result", "State")
MAX_LISTED = 200
"""How many names are listed before their keys are replaced."""
KEYS_ADVICE = Markup(
    "Write the address of this machine in its place; it is served there if the service was started with <code>reelbook serve "
    "--host 0.0.0.0</code>."
)
NO_STUDENTS = Markup(
    "<p>There are no students yet. <code>reelbook class add names.csv --budget 530 --sheet keys.html</code> makes their accounts "
    "and a sheet of their keys.</p>"
)


def respond(
    title: str, body: Markup, *, status: int = 200, script: Markup | None = None, version: str = "", above: str = ""
) -> HTMLResponse:
    """A page with our own style, and with our own script if there is one: nothing else runs or loads.

    `above`: the folder of `/class`, to which its addresses are relative, from where it is.
    """
    nonce = secrets.token_urlsafe(16)
    page = Markup(
        '<!doctype html>\n<html lang=en><meta charset=utf-8><meta name=viewport content="width=device-width">'
        '{base}<title>{title}</title><link rel=icon href="data:,"><style nonce="{nonce}">{style}</style>\n'
        '<body data-version="{version}">\n{body}\n{script}</html>\n'
    ).format(
        base=Markup('<base href="{}">').format(above) if above else "",
        title=title,
        nonce=nonce,
        style=STYLE,
        version=version,
        body=body,
        script=Markup('<script type=module nonce="{}">{}</script>').format(nonce, script) if script else "",
    )
    policy = (
        f"default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; connect-src 'self'; img-src 'self' data:; "
        "media-src 'self'; form-action 'self'; base-uri 'self'; frame-ancestors 'none'"
    )
    headers = {
        "content-security-policy": policy,
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        "cross-origin-opener-policy": "same-origin",
        # Not `no-referrer`: browsers would send forms with the origin `null` then, which is refused.
        "referrer-policy": "same-origin",
    }
    return HTMLResponse(str(page), status, headers)


def render_login(problem: str = "") -> Markup:
    """The form that asks for the password."""
    alert = Markup("<p class=bad role=alert>{}</p>").format(problem) if problem else ""
    return Markup(
        "<main class=login><h1>Class</h1>{}<form method=post action=class/login><label for=password>Password of the board</label>"
        "<input id=password name=password type=password autocomplete=current-password required autofocus>"
        "<button>Log in</button></form>"
        "<p class=soft>The service printed it at its first start. <code>reelbook class board-password</code> makes another one.</p>"
        "</main>"
    ).format(alert)


def render_board(feed: BoardFeed, token: str, notice: str = "", *, is_problem: bool = False) -> Markup:
    """The board, with each cell under the name by which the stream changes it."""
    rows = feed.rows
    said = Markup("<p id=notice role=status class={}>{}</p>").format("bad" if is_problem else "good", notice)
    return Markup(
        "<header><h1>Class</h1><span id=live class=soft><noscript>Without scripts: "
        "<a href=class>reload</a> for the present state</noscript></span>"
        "<form method=post action=class/logout><input type=hidden name=token value={token}>"
        "<a href=class/report.csv download>Export CSV</a><button>Log out</button></form>"
        "<p id=summary>{summary}</p></header>\n"
        "<main><div class=facts><section><h2>Queue</h2><div id=queue>{queue}</div></section>"
        "<section><h2>Errors</h2><div id=errors>{errors}</div></section></div>\n"
        "<form id=class method=post action=class/change autocomplete=off>"
        "<input type=hidden name=token value={token}><input type=hidden name=once value={once}>"
        # The first button is the one that Enter presses in a field: none, so that nothing happens by accident.
        "<button disabled hidden></button>{table}</form></main>"
    ).format(
        token=token,
        once=secrets.token_hex(8),
        summary=feed.cell("summary"),
        queue=feed.cell("queue"),
        errors=feed.cell("errors"),
        table=Markup("{}\n{}").format(_actions(rows, said), _table(feed)) if rows else said + NO_STUDENTS,
    )


def render_confirmation(names: Sequence[str], token: str) -> Markup:
    """The question before keys are replaced."""
    fields = Markup("").join(Markup('<input type=hidden name=name value="{}">').format(name) for name in names)
    listed = ", ".join(format_line(name) for name in names[:MAX_LISTED])
    rest = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return Markup(
        "<main><h1>Replace {count}</h1><p>Of {listed}{rest}.</p><p>The old keys are refused at once; runs, files and budgets stay. "
        "The new keys are on the next page, once: nobody can read them again.</p>"
        "<form method=post action=class/change><input type=hidden name=token value={token}><input type=hidden name=once value={once}>"
        "<input type=hidden name=whom value=marked><input type=hidden name=sure value=yes>{fields}"
        "<button name=do value=replace>Replace</button> <a href=class>Back to the class</a></form></main>"
    ).format(
        count=format_count(len(names), "key"),
        listed=listed,
        rest=rest,
        token=token,
        once=secrets.token_hex(8),
        fields=fields,
    )


def render_new_keys(keys: Iterable[NewKey], address: str) -> Markup:
    """The new keys, which no later page contains."""
    rows = Markup("").join(
        Markup("<tr><th scope=row>{}</th><td><code>{}</code></td><td><code>{}</code></td></tr>").format(
            key.name, key.key, connect_line(address, key.key)
        )
        for key in keys
    )
    unreachable = format_unreachable(address)
    warning = Markup("<p><b class=bad>{}</b> {}</p>").format(unreachable, KEYS_ADVICE) if unreachable else ""
    return Markup(
        "<main><h1>New keys</h1>{}<p>Copy them now: only their hashes are stored, and this page does not come again.</p>"
        "<table class=keys><thead><tr><th scope=col>Student</th><th scope=col>Key</th><th scope=col>First line to type</th></tr></thead>"
        "<tbody>{}</tbody></table><p><a href=class>Back to the class</a></p></main>"
    ).format(warning, rows)


def render_result(row: ClassRow, result: LastResult, prompt: str) -> Markup:
    """The page of one result, larger than on the board."""
    address, kind = f"class/media/{result.request_id}", result.content_type or ""
    if kind.startswith("video/"):
        media = Markup('<video class=large src="{}" controls autoplay muted loop playsinline></video>').format(address)
    elif kind.startswith("image/"):
        media = Markup('<img class=large src="{}" alt="{}">').format(address, prompt)
    else:
        media = Markup('<p><a href="{}" download>Save the file</a></p>').format(address)
    return Markup(
        "<main><h1>{}</h1><p>{}</p>{}<p class=soft>{} · {}</p><p><a href=class>Back to the class</a></p></main>"
    ).format(format_line(row.name), prompt, media, result.endpoint_id, result.request_id)


def _actions(rows: Sequence[ClassRow], notice: Markup) -> Markup:
    groups = sorted({row.group for row in rows if row.group})
    options = Markup("").join(
        Markup('<option value="group:{}">group {}</option>').format(group, format_line(group)) for group in groups
    )
    return Markup(
        "<div class=actions role=group aria-label='Actions on students'><label>For <select name=whom>"
        "<option value=marked>those marked below</option>{}<option value=all>all {}</option></select></label>"
        "<button name=do value=pause>Pause</button><button name=do value=resume>Resume</button>"
        "<label>Credits <input name=credits inputmode=numeric maxlength=12></label><button name=do value=topup>Top up</button>"
        "<button name=do value=replace>Replace keys …</button>{}</div>"
    ).format(options, f"{len(rows):,}", notice)


def _table(feed: BoardFeed) -> Markup:
    heads = Markup("").join(
        Markup("<th scope=col class=c-{}>{}</th>").format(name, words)
        for name, words in zip(COLUMNS, HEADINGS, strict=True)
    )
    numbered = list(enumerate(feed.rows))
    has_groups = any(row.group for row in feed.rows)
    bodies = Markup("\n").join(
        Markup("<tbody>{}{}</tbody>").format(
            _group(group, len(members)) if has_groups else "",
            Markup("\n").join(_row(feed, number, row) for number, row in members),
        )
        for group, members in (
            (group, list(members)) for group, members in groupby(numbered, lambda pair: pair[1].group)
        )
    )
    return Markup(
        "<table><thead><tr><th class=c-mark><span class=hidden>Mark</span></th><th scope=col>Student</th>{}</tr></thead>\n{}</table>"
    ).format(heads, bodies)


def _group(group: str, count: int) -> Markup:
    return Markup("<tr><th class=group colspan=7 scope=rowgroup>{} <span class=soft>{}</span></th></tr>").format(
        format_line(group) or "Without a group", format_count(count, "student")
    )


def _row(feed: BoardFeed, number: int, row: ClassRow) -> Markup:
    cells = Markup("").join(
        Markup("<td id={name}-{number} class={name}>{cell}</td>").format(
            name=name, number=number, cell=feed.cell(f"{name}-{number}")
        )
        for name in COLUMNS
    )
    return Markup(
        '<tr><td><input type=checkbox name=name value="{name}" id=mark-{number}></td>'
        "<th scope=row><label for=mark-{number}>{text}</label></th>{cells}</tr>"
    ).format(name=row.name, text=format_line(row.name), number=number, cells=cells)
