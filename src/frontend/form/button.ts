/** The button that runs a form: what a run costs, how far the one under way is, and whether another press starts another. */
import { made } from "../page/element.ts";
import { type RunEntry, runsDuration, runsIsLive } from "./run.ts";

const BUTTON_OFFER = 8000; // Milliseconds for which another press starts another run.

/** @param why Where the answer to a press stands when nothing else is to be said. */
export function makeRunButton(link: any, why: HTMLElement, pressed: () => void) {
  const label = made("span", { class: "rbf-run-label" });
  const fill = made("span", { class: "rbf-run-fill", hidden: true });
  const el = made(
    "button",
    { type: "button", class: "rbf-primary rbf-run-button", "aria-describedby": why.id },
    label,
    fill,
  );
  let isWaiting = false,
    skew = 0,
    timer = 0;
  /** The number with which a press starts another run; 0 where none is offered. */
  let again = 0;

  /** The newest run that is under way, and whether it has what stands in the form now. */
  const going = () => {
    const entry: RunEntry | undefined = link.hasEnded ? undefined : link.model.get("records").find(runsIsLive);
    return { entry, isSame: !!entry && entry.change === link.state.change && link.isHeard };
  };

  const progress = (entry: RunEntry) => {
    const done = entry.status === "running" && entry.fraction ? `${Math.round(100 * entry.fraction)}%` : "";
    const since = entry.since ? runsDuration((Date.now() + skew) / 1000 - entry.since) : "";
    const ahead = /^\d+ ahead/.exec(entry.line ?? "")?.[0] ?? "";
    const word = entry.status === "running" ? "Running" : "Waiting";
    return [word, done || ahead, since].filter(Boolean).join(" · ");
  };

  const update = () => {
    const { state } = link,
      { entry, isSame } = going();
    const isSending = link.model.get("records").some((one: RunEntry) => one.sending);
    const price = state.price.credits === null ? "" : ` · ${state.price.told}`;
    const isBusy = isWaiting || isSending || (isSame && !again);
    // Not `disabled`, which would remove the focus from the button just pressed.
    el.setAttribute("aria-disabled", String(!state.ready || isSending || isWaiting));
    el.classList.toggle("rbf-run-busy", isBusy);
    const text = isWaiting
      ? "Waiting for the kernel …"
      : isSending
        ? "Sending …"
        : isSame && entry && !again
          ? progress(entry)
          : `${again ? "Run another" : "Run"}${price}`;
    if (label.textContent !== text) label.textContent = text;
    fill.hidden = !entry;
    fill.style.width = `${Math.round(100 * (entry?.fraction ?? 0))}%`;
  };

  const withdraw = () => {
    clearTimeout(timer);
    again = 0;
  };
  const offs = [
    link.on("again", (content: any) => {
      withdraw();
      again = content.again;
      timer = window.setTimeout(() => {
        withdraw();
        update();
      }, BUTTON_OFFER);
      update();
    }),
    // With other inputs the offer to run again no longer applies.
    link.on("draft", () => withdraw()),
    link.on("clock", (content: any) => {
      skew = 1000 * content.clock - Date.now();
    }),
  ];
  el.addEventListener("click", pressed);
  link.model.on("change:records", update);
  const ticking = window.setInterval(() => {
    if (going().isSame) update();
  }, 1000);
  return {
    el,
    update,
    get isWaiting() {
      return isWaiting;
    },
    /** @param is Whether edits are still to be received by the kernel. */
    wait: (is: boolean) => {
      isWaiting = is;
      update();
    },
    /** What a press carries, once. */
    take: (): { again?: number } => {
      const taken = again ? { again } : {};
      withdraw();
      return taken;
    },
    dispose: () => {
      clearTimeout(timer);
      clearInterval(ticking);
      offs.forEach((off) => off());
      link.model.off("change:records", update);
    },
  };
}
