/** The button that runs a form: what a run costs, how far the one under way is, and whether another press starts another. */
import { made } from "../page/element.ts";
import type { Entry } from "./runs.tsx";

const BUTTON_OFFER = 8000; // Milliseconds for which another press starts another run.

/** @param why Where the answer to a press stands when nothing else is to be said. */
export function makeRunButton(link: any, why: HTMLElement, pressed: () => void) {
  const label = made("span", { class: "rbf-run-label" });
  const fill = made("span", { class: "rbf-run-fill", hidden: true });
  const attributes = { type: "button", class: "rbf-primary rbf-run-button", "aria-describedby": why.id };
  const el = made("button", { ...attributes, onclick: pressed }, label, fill);
  let isWaiting = false,
    timer = 0;
  /** The number with which a press starts another run; 0 where none is offered. */
  let again = 0;

  const update = () => {
    const { state } = link;
    const entries: Entry[] = link.hasEnded ? [] : link.model.get("records").filter(({ kind }: Entry) => kind === "run");
    const going = entries.find(({ isOver }) => !isOver);
    const isSame = going?.change === state.change && link.isHeard && !again;
    const isSending = entries.some((entry) => entry.isSending);
    // Not `disabled`, which would remove the focus from the button just pressed.
    el.setAttribute("aria-disabled", String(!state.ready || isSending || isWaiting));
    el.classList.toggle("rbf-run-busy", isWaiting || isSending || (!!going && isSame));
    const price = state.price.credits === null ? "" : ` · ${state.price.told}`;
    const text = isWaiting ? "Waiting for the kernel …" : isSending ? "Sending …" : isSame ? going?.button : "";
    const words = text || `${again ? "Run another" : "Run"}${price}`;
    if (label.textContent !== words) label.textContent = words;
    fill.hidden = !going;
    fill.style.width = `${Math.round(100 * (going?.fraction ?? 0))}%`;
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
    link.on("draft", withdraw),
  ];
  link.model.on("change:records", update);
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
      for (const off of offs) off();
      link.model.off("change:records", update);
    },
  };
}
