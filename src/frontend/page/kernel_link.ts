/** The page's end of a connection: sends to the kernel what displays of its key ask for, and hands out what comes back. */

import { FileShelf } from "./file_shelf.ts";

const GONE_DOING = "The kernel has ended; run the cell again to continue.";

/** Answer what the displays of a key on this page ask for. @returns Stop it. */
export function serveFiles({ model }: { model: any }) {
  const key = model.get("key");
  const shelf = new FileShelf(async (message) => model.send(message));
  /** Answers that are awaited to what the kernel was asked to do. */
  const doing: Map<string, (message: any, buffers: any[]) => void> = new Map();
  let isLost = false;

  const announce = (name: string, detail: Record<string, unknown> = {}) =>
    dispatchEvent(new CustomEvent(`reelbook:${name}`, { detail: { key, ...detail } }));
  /** Announce that selected rows are sent to the kernel, with those selected now. */
  const listens = () => announce("listens", { rows: model.get("selected") ?? [] });
  const done = (id: string, message: any, buffers: any[] = []) => {
    doing.get(id)?.(message, buffers);
    doing.delete(id);
  };
  const lose = () => {
    isLost = true;
    shelf.lose();
    for (const id of [...doing.keys()]) done(id, { gone: GONE_DOING });
    announce("gone", { words: GONE_DOING });
  };
  /** @param failed A message fails after a restart of the kernel. */
  const send = async (message: any, failed: () => void = lose) => {
    try {
      await model.send(message);
    } catch {
      failed();
    }
  };

  /** What displays ask for. An event that is answered is cancelled. */
  const asked: Record<string, (event: Event, detail: any) => unknown> = {
    want: async (event, { row, place, copy, answer }) => {
      event.preventDefault();
      const { url, words, ...found } = await shelf.fetch(copy ? [row, place, copy] : [row, place]);
      answer(url || null, words, found);
    },
    do: (event, { message, answer }) => {
      event.preventDefault();
      const id = String(Math.random()); // Other pages of the same notebook hear the answer, too.
      doing.set(id, answer);
      send({ ...message, id }, () => done(id, { gone: GONE_DOING }));
    },
    is: (event) => isLost || event.preventDefault(),
    built: listens,
    selected: (_, { rows }) => send({ selected: rows }),
  };
  /** What the kernel says by itself, or in answer. */
  const told: Record<string, (message: any, buffers: any[]) => void> = {
    "change:selected": listens,
    // After the connection is there again: a message to another kernel fails.
    comm_live_update: () => send({ here: true }),
    "msg:custom": (message, buffers) => {
      if (message?.did) return done(message.did, message, buffers);
      for (const name of ["cells", "told"]) if (message?.[name]) announce(name, { [name]: message[name] });
      if (message?.clip) shelf.receive(message, buffers);
    },
  };

  const heard = new AbortController();
  for (const [name, act] of Object.entries(asked)) {
    const listener = (event: Event) => {
      const { detail } = event as CustomEvent;
      if (detail.key === key) act(event, detail);
    };
    addEventListener(`reelbook:${name}`, listener, heard);
  }
  for (const [name, act] of Object.entries(told)) model.on(name, act);
  send({ here: true }, () => {});
  announce("here");
  listens();
  return () => {
    heard.abort();
    for (const [name, act] of Object.entries(told)) model.off(name, act);
    lose();
    shelf.dispose();
  };
}

/** Nothing is seen of it. */
function render({ el }: { el: HTMLElement }) {
  el.style.display = "none";
}

export default { initialize: serveFiles, render };
