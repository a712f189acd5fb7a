/** Loads the files of one table from the kernel: answers the event `reelbook:want` with an address. Sends to the kernel the selected rows, and what it is to do. */

import { FileShelf } from "./file_shelf.ts";

const GONE_DOING = "The kernel has ended; run the cell again to continue.";

function initialize({ model }: { model: any }) {
  const key = model.get("key");
  const shelf = new FileShelf(async (message) => model.send(message));

  const asked = async (event: Event) => {
    const { key: theirs, row, place, copy, answer } = (event as CustomEvent).detail;
    if (theirs !== key) return;
    event.preventDefault(); // Marks the request as accepted.
    const { url, words, ...found } = await shelf.fetch(copy ? [row, place, copy] : [row, place]);
    answer(url || null, words, found);
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
    if (message?.clip) shelf.receive(message, buffers);
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
    shelf.lose();
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
    shelf.dispose();
  };
}

/** Nothing is seen of it. */
function render({ el }: { el: HTMLElement }) {
  el.style.display = "none";
}

export default { initialize, render };
