/** What a sweep has made: a small picture for each run, labelled by what varies, and one of them large. */
import { made } from "../page/element.ts";
import { type ClipFile, ClipShelf, clipPoster, makeClip } from "./clip.ts";
import { quietButton } from "./quiet.ts";

export type SweepShot = { key: string; label: string; count: number; file: ClipFile };

const SWEEP_FIRST = 12; // Results displayed at first; a button displays the rest.

/** @param options Whether the first is large from the start. */
export function sweepFilm(link: any, job: string, { isFirstOpen = false }: { isFirstOpen?: boolean } = {}) {
  const shelf = new ClipShelf(link);
  const large = made("div", { class: "rbf-sweep-large" });
  const row = made("div", { class: "rbf-sweep-film", role: "group", "aria-label": "results of this sweep" });
  const count = made("span", {});
  const all = quietButton("Show all", () => show(shots.length));
  const el = made("div", { hidden: true }, row, made("p", { class: "rbf-caption" }, count, " ", all), large);
  let shots: SweepShot[] = [];
  let total = 0,
    opened = "";
  const forgets: (() => void)[] = [];
  let clip: ReturnType<typeof makeClip> | null = null;

  const close = () => {
    clip?.dispose();
    clip = null;
    large.replaceChildren();
    opened = "";
  };
  const open = (shot: SweepShot, plays: boolean = true) => {
    const was = opened;
    close();
    if (was !== shot.key) {
      opened = shot.key;
      clip = makeClip(shelf, shot.key, 0, shot.file, { isAlone: true, isNewest: false, text: shot.label });
      large.append(
        clip.el,
        made("p", { class: "rbf-caption", text: [shot.label, shot.file.caption].filter(Boolean).join(" · ") }),
      );
      // Whoever opens a clip wants to see it move.
      if (plays) (clip.el.querySelector(".rbf-clip-play") as HTMLElement | null)?.click();
    }
    for (const one of row.children)
      one.setAttribute("aria-pressed", String((one as HTMLElement).dataset.run === opened));
  };

  const cell = (shot: SweepShot) => {
    const box = made("span", { class: "rbf-run-thumb", "aria-hidden": "true" });
    const button = made(
      "button",
      {
        type: "button",
        class: "rbf-run-cell",
        "data-run": shot.key,
        title: shot.label,
        "aria-pressed": "false",
        onclick: () => open(shot),
      },
      box,
      made("span", { class: "rbf-run-cell-state", text: shot.label }),
    );
    forgets.push(clipPoster(shelf, shot.key, box));
    return button;
  };

  const show = (most: number) => {
    row.append(...shots.slice(row.children.length, most).map(cell));
    el.hidden = !shots.length;
    const visible = row.children.length;
    count.textContent =
      visible < total
        ? `${visible} of ${total.toLocaleString("en")} results`
        : `${total.toLocaleString("en")} result${total === 1 ? "" : "s"}`;
    all.hidden = visible >= shots.length;
  };

  const off = link.on("sweep_film", (content: any) => {
    if (content.sweep_film !== job || shots.length) return;
    ({ shots, of: total } = content);
    show(SWEEP_FIRST);
    if (isFirstOpen && shots.length) open(shots[0], false);
  });
  link.ask({ do: "sweep_film", job });
  return {
    el,
    dispose: () => {
      off();
      close();
      forgets.forEach((forget) => forget());
      shelf.dispose();
      el.remove();
    },
  };
}
