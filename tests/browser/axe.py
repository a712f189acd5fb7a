"""What is out of reach for some people: axe-core's findings in a part of a page, and what a keyboard gets to."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from playwright.sync_api import Page

from tests.browser.looks import CONTRAST

GRAVE = ("serious", "critical")

# Text that is painted: its element, how far it stands out, and what it says.
FAINT = f"""roots => {{
  const contrast = {CONTRAST};
  const found = [];
  for (const root of document.querySelectorAll(roots)) {{
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {{
      const element = node.parentElement, words = node.data.trim();
      if (!words || element.closest('script, style, svg, [disabled], option') || !element.checkVisibility({{visibilityProperty: true}})) continue;
      const box = element.getBoundingClientRect();
      if (box.width < 2 || box.height < 2) continue;
      const stands = contrast(element);
      // A sign beside the word that says the same is a drawing: for these, 3 to 1 is asked.
      const enough = element.closest('[aria-hidden=true]') ? 3 : 4.5;
      if (stands < enough) found.push(`${{stands.toFixed(2)}}: <${{element.localName}}> ${{words.slice(0, 40)}}`);
    }}
  }}
  return [...new Set(found)];
}}"""

# What reaches beyond the part of the page that is there for it, unless a box in between scrolls or cuts it off.
BEYOND = """roots => [...document.querySelectorAll(roots)].flatMap(root => {
  const right = root.getBoundingClientRect().right + 1;
  const held = element => {
    for (let e = element.parentElement; e && e !== root; e = e.parentElement)
      if (/auto|scroll|hidden|clip/.test(getComputedStyle(e).overflowX)) return true;
    return false;
  };
  return [...root.querySelectorAll('*')]
    .filter(e => e.checkVisibility() && e.getBoundingClientRect().width > 1 && e.getBoundingClientRect().right > right && !held(e))
    .map(e => `<${e.localName}> ${Math.round(e.getBoundingClientRect().right - right)} px: ${e.textContent.trim().slice(0, 40)}`)
    .slice(0, 5);
})"""

# Marks what a keyboard must reach: native controls and whatever says that it can be focused.
CONTROLS = """roots => {
  const kinds = 'button, a[href], input, select, textarea, summary, video[controls], [tabindex]';
  const all = [...document.querySelectorAll(roots)].flatMap(root => [...root.querySelectorAll(kinds)])
    .filter(e => e.tabIndex >= 0 && !e.disabled && (e.type !== 'radio' || e.checked) && e.checkVisibility({visibilityProperty: true}) && !e.closest('[hidden], [inert]'));
  all.forEach((e, place) => { e.dataset.control = place; });
  return all.map(e => `${e.localName} ${(e.getAttribute('aria-label') || e.textContent || e.title || '').trim().slice(0, 30)}`);
}"""

# What has the focus, and whether one can see that: an outline, or anything else that is not there without it.
FOCUSED = """() => {
  const e = document.activeElement;
  if (!e || e.dataset.control === undefined) return null;
  const look = () => { const s = getComputedStyle(e); return [s.outlineStyle === 'none' ? '' : s.outlineWidth + s.outlineColor, s.boxShadow, s.borderColor, s.backgroundColor].join(); };
  const s = getComputedStyle(e);
  return {place: Number(e.dataset.control), isSeen: (s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 1) || s.boxShadow !== 'none'};
}"""


def findings(page: Page, roots: str, *, colours: bool = True) -> list[str]:
    """The grave findings of axe-core within these elements; what else is on the page is not ours.

    Where `faint` is asked as well, axe need not look at colours, which takes it most of its time.
    """
    page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
    told: list[dict[str, Any]] = page.evaluate(
        "([roots, enabled]) => axe.run({include: [...document.querySelectorAll(roots)]},"
        " {resultTypes: ['violations'], elementRef: false, selectors: false, rules: {'color-contrast': {enabled}}})"
        ".then(result => result.violations.map(v => ({rule: v.id, impact: v.impact, places: v.nodes.map(n => n.html.slice(0, 120))})))",
        [roots, colours],
    )
    return [f"{one['rule']}: {one['places'][:4]}" for one in told if one["impact"] in GRAVE]


def faint(page: Page, roots: str) -> list[str]:
    """Words that do not stand out enough from what is behind them."""
    return list(page.evaluate(FAINT, roots))


def beyond(page: Page, roots: str) -> list[str]:
    """What sticks out of its place to the right."""
    return list(page.evaluate(BEYOND, roots))


@dataclass(frozen=True)
class Reached:
    """What a keyboard gets to."""

    controls: list[str]
    missed: list[str]
    unseen: list[str]
    """Those that have the focus without showing it."""


def tabbed(page: Page, roots: str) -> Reached:
    """Press Tab from the start of the page until nothing new comes."""
    controls: list[str] = page.evaluate(CONTROLS, roots)
    page.evaluate("document.activeElement?.blur(); getSelection()?.removeAllRanges(); scrollTo(0, 0)")
    seen: dict[int, bool] = {}
    idle = 0
    # A player has several stops of its own inside.
    while len(seen) < len(controls) and idle < 16:
        page.keyboard.press("Tab")
        now = page.evaluate(FOCUSED)
        idle = 0 if now and now["place"] not in seen else idle + 1
        if now:
            seen.setdefault(now["place"], now["isSeen"])
    return Reached(
        controls,
        [name for place, name in enumerate(controls) if place not in seen],
        [controls[place] for place, is_seen in seen.items() if not is_seen],
    )
