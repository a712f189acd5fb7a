/** Loads the files of one table from the kernel: answers the event `reelbook:want` with an address. Sends to the kernel the selected rows, and what it is to do. */

const GONE = "The kernel has ended; run the cell again to see it here.";
const GONE_DOING = "The kernel has ended; run the cell again to continue.";

/** The file, and for a clip what decodes it. */
export type Found = { blob: Blob; index?: any; times?: number[] };
export type Answer = (url: string | null, words?: string, found?: Found) => void;

function initialize({ model }: { model: any }) {
  const key = model.get("key");
  /** Requests in progress. */
  const awaited: Map<string, { answers: Answer[]; parts: any[]; had: number; first?: any }> = new Map();
  const arrived: Map<string, { url: string; found: Found }> = new Map();

  const asked = (event: Event) => {
    const { key: theirs, row, place, copy, answer } = (event as CustomEvent).detail;
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

  /** @param failed Send to the kernel; it fails after a restart. */
  const send = async (message: any, failed: () => void) => {
    try {
      await model.send(message);
    } catch {
      failed();
    }
  };

  /** Answers that are awaited to what the kernel was asked to do. */
  const doing: Map<string, (message: any, buffers: any[]) => void> = new Map();
  const done = (id: string, message: any, buffers: any[] = []) => {
    doing.get(id)?.(message, buffers);
    doing.delete(id);
  };
  const acted = (event: Event) => {
    const { key: theirs, message, answer } = (event as CustomEvent).detail;
    if (theirs !== key) return;
    event.preventDefault();
    const id = String(Math.random()); // Other pages of the same notebook hear the answer, too.
    doing.set(id, answer);
    send({ ...message, id }, () => done(id, { gone: GONE_DOING }));
  };

  const onMessage = (message: any, buffers: any[]) => {
    if (message?.did) return done(message.did, message, buffers);
    for (const name of ["said", "cells", "told"]) {
      if (message?.[name])
        dispatchEvent(new CustomEvent(`reelbook:${name}`, { detail: { key, [name]: message[name] } }));
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

  const settle = (name: string, address: string | null, words: string, found?: Found) => {
    const answers = awaited.get(name)?.answers ?? [];
    awaited.delete(name);
    answers.forEach((answer) => answer(address, words, found));
  };

  let isLost = false;
  /** @param event Whether the kernel is there. */
  const isMine = (event: Event) => {
    if ((event as CustomEvent).detail.key === key && !isLost) event.preventDefault();
  };

  /** Announce that selected rows are sent to the kernel, with those selected now. */
  const listens = () =>
    dispatchEvent(new CustomEvent("reelbook:listens", { detail: { key, rows: model.get("selected") ?? [] } }));
  const built = (event: Event) => {
    if ((event as CustomEvent).detail.key === key) listens();
  };
  const selected = (event: Event) => {
    const { key: theirs, rows, to = "selected" } = (event as CustomEvent).detail;
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

/** Nothing is seen of it. */
function render({ el }: { el: HTMLElement }) {
  el.style.display = "none";
}

export default { initialize, render };
