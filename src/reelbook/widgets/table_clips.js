// @ts-check
/** Loads the files of one table from the kernel: answers the event `reelbook:want` with an address. Sends to the kernel the selected rows, and what it is to do. */

const GONE = "The kernel has ended; run the cell again to see it here.";
const GONE_DOING = "The kernel has ended; run the cell again to go on.";

/** @typedef {{blob: Blob, index?: any, times?: number[]}} Found The file, and for a clip what decodes it. */
/** @typedef {(url: string | null, words?: string, found?: Found) => void} Answer */

/** @param {{model: any}} context */
function initialize({ model }) {
  const key = model.get("key");
  /** Requests in progress. @type {Map<string, {answers: Answer[], parts: any[], had: number, first?: any}>} */
  const awaited = new Map();
  /** @type {Map<string, {url: string, found: Found}>} */
  const arrived = new Map();

  /** @param {Event} event */
  const asked = (event) => {
    const { key: theirs, row, place, copy, answer } = /** @type {CustomEvent} */ (event).detail;
    if (theirs !== key) return;
    event.preventDefault(); // Marks the request as accepted.
    const want = copy ? [row, place, copy] : [row, place];
    const name = want.join("/");
    const known = arrived.get(name);
    if (known) return answer(known.url, "", known.found);
    const order = awaited.get(name) ?? { answers: [], parts: [], had: 0 };
    order.answers.push(answer);
    awaited.set(name, order);
    // Repeated for a pending request, because the first message may have been lost with a connection.
    send({ want }, () => settle(name, null, GONE));
  };

  /** @param {any} message @param {() => void} failed Send to the kernel; it fails after a restart. */
  const send = async (message, failed) => {
    try {
      await model.send(message);
    } catch {
      failed();
    }
  };

  /** Answers that are awaited to what the kernel was asked to do. @type {Map<string, (message: any, buffers: any[]) => void>} */
  const doing = new Map();
  /** @param {string} id @param {any} message @param {any[]} [buffers] */
  const done = (id, message, buffers = []) => {
    doing.get(id)?.(message, buffers);
    doing.delete(id);
  };
  /** @param {Event} event */
  const acted = (event) => {
    const { key: theirs, message, answer } = /** @type {CustomEvent} */ (event).detail;
    if (theirs !== key) return;
    event.preventDefault();
    const id = String(Math.random()); // Other pages of the same notebook hear the answer, too.
    doing.set(id, answer);
    send({ ...message, id }, () => done(id, { gone: GONE_DOING }));
  };

  /** @param {any} message @param {any[]} buffers */
  const onMessage = (message, buffers) => {
    if (message?.did) return done(message.did, message, buffers);
    for (const name of ["said", "cells", "told"]) {
      if (message?.[name]) dispatchEvent(new CustomEvent(`reelbook:${name}`, { detail: { key, [name]: message[name] } }));
    }
    const name = (message?.clip ?? []).join("/");
    const order = awaited.get(name);
    if (!order) return; // Requested by another page of the same notebook.
    if (message.of === undefined) return settle(name, null, message.words);
    order.had += order.parts[message.part] ? 0 : 1;
    order.parts[message.part] = buffers[0];
    if (message.part === 0) order.first = message;
    if (order.had < message.of) return;
    const { kind, index, times } = order.first;
    const blob = new Blob(order.parts, { type: kind });
    const known = { url: URL.createObjectURL(blob), found: { blob, index, times } };
    arrived.set(name, known);
    settle(name, known.url, "", known.found);
  };

  /** @param {string} name @param {string | null} address @param {string} words @param {Found} [found] */
  const settle = (name, address, words, found) => {
    const answers = awaited.get(name)?.answers ?? [];
    awaited.delete(name);
    answers.forEach((answer) => answer(address, words, found));
  };

  let isLost = false;
  /** @param {Event} event Whether the kernel is there. */
  const isMine = (event) => { if (/** @type {CustomEvent} */ (event).detail.key === key && !isLost) event.preventDefault(); };

  /** Announce that selected rows are sent to the kernel, with those selected now. */
  const listens = () => dispatchEvent(new CustomEvent("reelbook:listens", { detail: { key, rows: model.get("selected") ?? [] } }));
  /** @param {Event} event */
  const built = (event) => { if (/** @type {CustomEvent} */ (event).detail.key === key) listens(); };
  /** @param {Event} event */
  const selected = (event) => {
    const { key: theirs, rows, to = "selected" } = /** @type {CustomEvent} */ (event).detail;
    if (theirs === key) send({ [to]: rows }, lose);
  };

  const lose = () => {
    isLost = true;
    for (const name of [...awaited.keys()]) settle(name, null, GONE);
    for (const id of [...doing.keys()]) done(id, { gone: GONE_DOING });
    window.dispatchEvent(new CustomEvent("reelbook:gone", { detail: { key, words: GONE_DOING } }));
  };
  /** Whether the kernel is the same: a message to another one fails. */
  const lived = () => send({ here: true }, lose);

  window.addEventListener("reelbook:want", asked);
  window.addEventListener("reelbook:do", acted);
  window.addEventListener("reelbook:is", isMine);
  window.addEventListener("reelbook:built", built);
  window.addEventListener("reelbook:selected", selected);
  model.on("change:selected", listens);
  model.on("msg:custom", onMessage);
  model.on("comm_live_update", lived);
  send({ here: true }, () => {});
  window.dispatchEvent(new CustomEvent("reelbook:here", { detail: { key } }));
  listens();
  return () => {
    window.removeEventListener("reelbook:want", asked);
    window.removeEventListener("reelbook:do", acted);
    window.removeEventListener("reelbook:is", isMine);
    window.removeEventListener("reelbook:built", built);
    window.removeEventListener("reelbook:selected", selected);
    model.off("change:selected", listens);
    model.off("msg:custom", onMessage);
    model.off("comm_live_update", lived);
    lose();
    arrived.forEach(({ url }) => URL.revokeObjectURL(url));
  };
}

/** Nothing is seen of it. @param {{el: HTMLElement}} view */
function render({ el }) {
  el.style.display = "none";
}

export default { initialize, render };
