/** Controls for one of several values: a few beside each other, or a list to search. */
import { made } from "../page/element.ts";
import { CONTROLS, type Control, type Place } from "./fields.ts";
import { PLAIN_SERVICE, plainEmpty, plainIsOpen, plainSame, plainText, plainWrite } from "./plain.ts";

const PLAIN_SEGMENTS = 5;
const PLAIN_SEGMENT_LETTERS = 18;
const PLAIN_SEGMENTS_LETTERS = 48;

function makePlainChoice(place: Place): Control {
  const letters = place.node.choices.map((choice: any) => choice.label.length);
  const total = letters.reduce((sum: number, length: number) => sum + length, 0);
  const isShort =
    letters.length <= PLAIN_SEGMENTS &&
    Math.max(0, ...letters) <= PLAIN_SEGMENT_LETTERS &&
    total <= PLAIN_SEGMENTS_LETTERS;
  return isShort ? makePlainSegments(place) : makePlainList(place);
}

function makePlainSegments(place: Place): Control {
  const { node } = place;
  const odd = made("span", { class: "rbf-caption rbf-choice-odd" });
  const radios = node.choices.map((choice: any, index: number) => {
    const radio = made("input", { type: "radio", id: `${place.id}-${index}`, name: place.id, value: String(index) });
    radio.addEventListener("change", () => {
      odd.hidden = true;
      place.change(choice.value);
    });
    return radio;
  });
  const segments = radios.map((radio: HTMLInputElement, index: number) =>
    made(
      "label",
      { class: "rbf-segment", for: radio.id },
      radio,
      made("span", { text: node.choices[index].label, "data-text": node.choices[index].label }),
    ),
  );
  const row = made(
    "div",
    { class: "rbf-segments", role: "radiogroup", "aria-labelledby": place.labelledBy },
    ...segments,
  );
  const show = (value: unknown) => {
    const current = value === undefined ? node.default : value;
    const found = node.choices.findIndex((choice: any) => plainSame(choice.value, current));
    radios.forEach((radio: HTMLInputElement, index: number) => {
      radio.checked = index === found;
    });
    odd.hidden = found >= 0 || current === null || (current === undefined && !plainIsOpen(node));
    odd.textContent = current === undefined ? PLAIN_SERVICE : `Now: ${plainText(current)}`;
  };
  return { el: made("div", { class: "rbf-choice" }, row, odd), show, group: true };
}

/** A list to search, for more choices than one sees at once. */
function makePlainList(place: Place): Control {
  const { node } = place;
  const listId = `${place.id}-list`;
  const input = made("input", {
    type: "text",
    id: place.id,
    class: "rbf-text rbf-combo-text",
    role: "combobox",
    autocomplete: "off",
    spellcheck: "false",
    "aria-expanded": "false",
    "aria-controls": listId,
    "aria-autocomplete": "list",
    placeholder: plainEmpty(node),
  }) as HTMLInputElement;
  const list = made("ul", {
    class: "rbf-combo-list",
    id: listId,
    role: "listbox",
    "aria-labelledby": place.labelledBy,
  });
  const none = made("p", { class: "rbf-caption rbf-combo-none", role: "status", text: "No choice matches." });
  list.hidden = none.hidden = true;
  let value = undefined as unknown;
  let active = -1;
  let options = [] as HTMLElement[];

  const currentText = () => {
    const current = value === undefined ? node.default : value;
    const found = node.choices.find((choice: any) => plainSame(choice.value, current));
    return found ? found.label : current === null ? "" : plainText(current);
  };
  const point = (index: number) => {
    active = index;
    options.forEach((option, place) => option.classList.toggle("rbf-combo-active", place === index));
    if (index < 0) input.removeAttribute("aria-activedescendant");
    else input.setAttribute("aria-activedescendant", options[index].id);
    options[index]?.scrollIntoView({ block: "nearest" });
  };
  const close = () => {
    list.hidden = none.hidden = true;
    input.setAttribute("aria-expanded", "false");
    point(-1);
  };
  const pick = (picked: unknown) => {
    value = picked;
    plainWrite(input, currentText());
    close();
    place.change(value);
  };
  const open = (sought: string) => {
    const words = sought.toLowerCase().split(/\s+/).filter(Boolean);
    const current = value === undefined ? node.default : value;
    options = [];
    node.choices.forEach((choice: any, index: number) => {
      if (!words.every((word) => choice.label.toLowerCase().includes(word))) return;
      const option = made("li", {
        id: `${listId}-${index}`,
        role: "option",
        class: "rbf-combo-option",
        text: choice.label,
        "aria-selected": String(plainSame(choice.value, current)),
      });
      option.addEventListener("click", () => pick(choice.value));
      option.dataset.index = String(index);
      options.push(option);
    });
    list.replaceChildren(...options);
    list.hidden = !options.length;
    none.hidden = !!options.length;
    input.setAttribute("aria-expanded", String(!!options.length));
    const at = options.findIndex((option) => option.getAttribute("aria-selected") === "true");
    point(words.length && options.length ? Math.max(at, 0) : at);
  };
  const leave = () => {
    // Text that matches no choice is replaced with the current value; an empty text restores the default.
    if (input.value.trim() === "" && value !== undefined) pick(undefined);
    else plainWrite(input, currentText());
    close();
  };
  input.addEventListener("click", () => {
    if (list.hidden) open("");
  });
  input.addEventListener("input", () => open(input.value));
  // The focus stays in the text while one points at the list.
  list.addEventListener("mousedown", (event) => event.preventDefault());
  input.addEventListener("blur", leave);
  input.addEventListener("keydown", (event) => {
    const isOpen = !list.hidden;
    const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (by) {
      if (!isOpen) open("");
      else point((active + by + options.length + (active < 0 && by < 0 ? 1 : 0)) % options.length);
    } else if (event.key === "Enter" && isOpen) {
      if (active >= 0) pick(node.choices[Number(options[active].dataset.index)].value);
    } else if (event.key === "Escape" && (isOpen || !none.hidden)) {
      plainWrite(input, currentText());
      close();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
  const show = (next: unknown) => {
    const isTyping = plainSame(value, next) && input.matches(":focus");
    value = next;
    if (!isTyping) plainWrite(input, currentText());
  };
  return { el: made("div", { class: "rbf-combo" }, input, list, none), show };
}

CONTROLS.choice = makePlainChoice;
