// @ts-check
/** Brings the clips of one table from the kernel: a table asks its window, and this answers with an address. Says which rows are ticked. */

const GONE = "The kernel has ended; run the cell again to see it here.";

/** @typedef {(url: string | null, words?: string) => void} Answer */

/** @param {{model: any}} context */
function initialize({ model }) {
  const key = model.get("key");
  /** What was asked for and is on its way. @type {Map<string, {answers: Answer[], parts: any[], had: number}>} */
  const awaited = new Map();
  /** @type {Map<string, string>} */
  const addresses = new Map();

  /** @param {Event} event */
  const asked = (event) => {
    const { key: theirs, row, place, answer } = /** @type {CustomEvent} */ (event).detail;
    if (theirs !== key) return;
    event.preventDefault(); // Says that it will be seen to.
    const name = `${row}/${place}`;
    const known = addresses.get(name);
    if (known) return answer(known);
    const order = awaited.get(name) ?? { answers: [], parts: [], had: 0 };
    order.answers.push(answer);
    awaited.set(name, order);
    // Also where it was asked for before: that message may have been lost with a connection.
    send({ want: [row, place] }, () => settle(name, null, GONE));
  };

  /** @param {any} message @param {() => void} failed To the kernel; of one that was restarted nobody is left to hear it. */
  const send = async (message, failed) => {
    try {
      await model.send(message);
    } catch {
      failed();
    }
  };

  /** @param {any} said @param {any[]} buffers */
  const told = (said, buffers) => {
    const name = (said?.clip ?? []).join("/");
    const order = awaited.get(name);
    if (!order) return; // Another page of the same notebook has asked.
    if (said.of === undefined) return settle(name, null, said.words);
    order.had += order.parts[said.part] ? 0 : 1;
    order.parts[said.part] = buffers[0];
    if (order.had < said.of) return;
    const address = URL.createObjectURL(new Blob(order.parts, { type: said.kind }));
    addresses.set(name, address);
    settle(name, address, "");
  };

  /** @param {string} name @param {string | null} address @param {string} words */
  const settle = (name, address, words) => {
    const answers = awaited.get(name)?.answers ?? [];
    awaited.delete(name);
    answers.forEach((answer) => answer(address, words));
  };

  /** Rows are ticked on the page, and the kernel is told which. */
  const listens = () => dispatchEvent(new CustomEvent("reelbook:listens", { detail: { key, rows: model.get("selected") ?? [] } }));
  /** @param {Event} event */
  const built = (event) => { if (/** @type {CustomEvent} */ (event).detail.key === key) listens(); };
  /** @param {Event} event */
  const selected = (event) => {
    const { key: theirs, rows } = /** @type {CustomEvent} */ (event).detail;
    if (theirs === key) send({ selected: rows }, () => {});
  };

  window.addEventListener("reelbook:want", asked);
  window.addEventListener("reelbook:built", built);
  window.addEventListener("reelbook:selected", selected);
  model.on("change:selected", listens);
  model.on("msg:custom", told);
  send({ here: true }, () => {});
  window.dispatchEvent(new CustomEvent("reelbook:here", { detail: { key } }));
  listens();
  return () => {
    window.removeEventListener("reelbook:want", asked);
    window.removeEventListener("reelbook:built", built);
    window.removeEventListener("reelbook:selected", selected);
    model.off("change:selected", listens);
    model.off("msg:custom", told);
    for (const name of [...awaited.keys()]) settle(name, null, GONE);
    window.dispatchEvent(new CustomEvent("reelbook:gone", { detail: { key } }));
    addresses.forEach((address) => URL.revokeObjectURL(address));
  };
}

/** Nothing is seen of it. @param {{el: HTMLElement}} view */
function render({ el }) {
  el.style.display = "none";
}

export default { initialize, render };
