/** A number of frames, dragged or typed, and the seconds that it lasts, which can be typed as well. */
import { made } from "../page/element.ts";
import { CONTROLS, type Control, type Place } from "./fields.ts";
import { numberRead } from "./number.ts";
import { makePlainNumber, plainStep, plainTrack } from "./plain.ts";
import { specialFollow, specialOther, specialSay } from "./special_parts.ts";

function makeFrames(place: Place): Control {
  const { node, link } = place;
  const rateName = node.beside?.rate;
  const step = node.step > 0 ? node.step : 1;
  const low = plainTrack(node)?.low ?? step,
    high = plainTrack(node)?.high ?? Infinity;
  let typed: unknown;
  const change = (value: unknown) => {
    typed = value;
    place.change(value);
    update();
  };
  const number = makePlainNumber({ ...place, change });
  const slider = number.el.querySelector(".rbf-slider");
  slider?.removeAttribute("aria-labelledby");
  slider?.setAttribute("aria-label", `${node.label}, slider`);
  const seconds = made("input", {
    type: "text",
    id: `${place.id}-seconds`,
    class: "rbf-special-number",
    inputmode: "decimal",
    autocomplete: "off",
    spellcheck: "false",
    "aria-label": `${node.label}, in seconds`,
  });
  const per = made("span", { class: "rbf-caption rbf-frames-rate" });
  const part = (...children: (Node | string)[]) => made("span", { class: "rbf-frames-part" }, ...children);
  const timed = part(made("span", { "aria-hidden": "true", text: "=" }), seconds, "s", per);
  timed.hidden = !rateName;
  const el = made("div", { class: "rbf-frames" }, number.el, "frames", timed);

  /** The frames as they stand there, or by default; null while they cannot be read. */
  const frames = () => {
    const read = typed ?? node.default;
    return typeof read === "number" && read > 0 ? read : null;
  };
  const rate = () => {
    const read = specialOther(link, rateName);
    return typeof read === "number" && read > 0 ? read : null;
  };
  const length = () => {
    const [count, each] = [frames(), rate()];
    // Two digits behind the point, as one types them.
    return count === null || each === null ? "" : String(Math.round((100 * count) / each) / 100);
  };
  const update = () => {
    const words = length();
    specialSay(per, rate() === null ? "at an unknown rate" : `at ${rate()}/s`);
    slider?.setAttribute("aria-valuetext", `${frames() ?? "no"} frames${words && `, ${words} s`}`);
    seconds.disabled = rate() === null;
    // Seconds that are being typed stay as they are.
    if (document.activeElement === seconds) return;
    seconds.value = words;
    seconds.setAttribute("aria-invalid", "false");
  };
  const set = (count: number) => {
    const near = Math.min(Math.max(Math.round(count / step) * step, low), high);
    number.show(near);
    change(near);
  };
  seconds.addEventListener("input", () => {
    const read = numberRead(seconds.value),
      each = rate();
    const isRead = typeof read === "number" && read >= 0;
    if (isRead && each !== null) set(read * each);
    seconds.setAttribute("aria-invalid", String(!isRead && seconds.value.trim() !== ""));
  });
  seconds.addEventListener("blur", update);
  seconds.addEventListener("keydown", (event) => {
    const [by, count, each] = [plainStep(event), frames(), rate()];
    if (!by || count === null || each === null) return;
    event.preventDefault();
    set(count + by * each);
    seconds.value = length();
  });
  const show = (value: unknown) => {
    typed = value;
    number.show(value);
    update();
  };
  return { el, show, dispose: specialFollow(link, update) };
}

CONTROLS.frames = makeFrames;
