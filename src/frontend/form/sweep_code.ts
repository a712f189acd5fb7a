/** Python code on the page, to take along. */
import { made } from "../page/element.ts";

/** A box that displays code, copied to the clipboard where there is one. */
export function sweepCodeBox() {
  const area = made("textarea", { class: "rbf-code", readonly: true, "aria-label": "Code" });
  const said = made("span", { class: "rbf-caption", role: "status" });
  const el = made("div", { class: "rbf-sweep-code", hidden: true }, area, said);
  return {
    el,
    show: async (text: string) => {
      area.value = text;
      area.rows = Math.min(12, text.split("\n").length);
      el.hidden = false;
      try {
        await navigator.clipboard.writeText(text);
        said.textContent = "Copied";
      } catch {
        // No clipboard on pages without TLS: it can be taken by hand.
        area.select();
        said.textContent = "";
      }
    },
  };
}
