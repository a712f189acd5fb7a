/** The page's end of a connection: sends to the kernel what displays of its key ask for, and hands out what comes back. */

const GONE = "The kernel has ended; run the cell again to continue.";
const ASK_AGAIN = 3000; // Milliseconds after which a message may have been lost with a connection.

/** An address and what decodes it, or words that say why there is none. */
type FileFound = { url: string; words: string; blob?: Blob; index?: any; times?: number[]; copy?: boolean };
/** A file that was asked for, which comes in parts; when that was, and never again once it is here. */
type Order = { promise: Promise<FileFound>; done: (file: FileFound) => void; parts: any[]; first?: any; asked: number };

/** Answer what the displays of a key on this page ask for. @returns Stop it. */
export function serveFiles({ model }: { model: any }) {
  const key = model.get("key");
  const orders: Map<string, Order> = new Map();
  const urls: string[] = [];
  /** Answers that are awaited to what the kernel was asked to do. */
  const doing: Map<string, (message: any) => void> = new Map();
  let isLost = false;

  const announce = (name: string, detail: Record<string, unknown> = {}) =>
    dispatchEvent(new CustomEvent(`reelbook:${name}`, { detail: { key, ...detail } }));
  /** Announce that selected rows are sent to the kernel, with those selected now. */
  const listens = () => announce("listens", { rows: model.get("selected") ?? [] });
  const done = (id: string, message: any) => {
    doing.get(id)?.(message);
    doing.delete(id);
  };
  /** What could not be had may be there the next time. */
  const refuse = (name: string, words: string) => {
    orders.get(name)?.done({ url: "", words });
    orders.delete(name);
  };
  /** @param failed A message fails after a restart of the kernel. */
  const send = async (message: any, failed: () => void) => {
    try {
      await model.send(message);
    } catch {
      failed();
    }
  };
  const lose = () => {
    isLost = true;
    for (const [name, { asked }] of orders) if (asked < Infinity) refuse(name, GONE);
    for (const id of doing.keys()) done(id, { gone: GONE });
    announce("gone", { words: GONE });
  };

  /** @param want A row, the place of a file, and which copy of it where not the file itself. */
  const fetchFile = (want: (string | number)[]) => {
    const name = want.join("/");
    let order = orders.get(name);
    if (!order) {
      let done: Order["done"] = () => {};
      const promise = new Promise<FileFound>((resolve) => (done = resolve));
      order = { promise, done, parts: [], asked: -Infinity };
      orders.set(name, order);
    }
    if (performance.now() - order.asked > ASK_AGAIN) {
      order.asked = performance.now();
      send({ want }, () => refuse(name, GONE));
    }
    return order.promise;
  };
  /** A message that has a part of a file, or why there is none; other pages of a notebook hear it, too. */
  const receive = ({ clip, words, part, of, ...facts }: any, buffers: any[]) => {
    const name = clip.join("/");
    const order = orders.get(name);
    if (!order || order.asked === Infinity) return;
    if (of === undefined) return refuse(name, words);
    order.parts[part] = buffers[0];
    if (part === 0) order.first = facts;
    if (order.parts.filter(Boolean).length < of) return;
    const { kind, ...found } = order.first;
    const blob = new Blob(order.parts.splice(0), { type: kind });
    const url = URL.createObjectURL(blob);
    urls.push(url);
    order.asked = Infinity;
    order.done({ url, words: "", blob, ...found });
  };

  /** What displays ask for. An event that is answered is cancelled. */
  const asked: Record<string, (event: Event, detail: any) => unknown> = {
    want: async (event, { row, place, copy, answer }) => {
      event.preventDefault();
      const { url, words, ...found } = await fetchFile(copy ? [row, place, copy] : [row, place]);
      answer(url || null, words, found);
    },
    do: (event, { message, answer }) => {
      event.preventDefault();
      const id = String(Math.random()); // Other pages of the same notebook hear the answer, too.
      doing.set(id, answer);
      send({ ...message, id }, () => done(id, { gone: GONE }));
    },
    is: (event) => isLost || event.preventDefault(),
    built: listens,
    selected: (_, { rows }) => send({ selected: rows }, lose),
  };
  /** What the kernel says by itself, or in answer. */
  const told: Record<string, (message: any, buffers: any[]) => void> = {
    "change:selected": listens,
    // After the connection is there again: a message to another kernel fails.
    comm_live_update: () => send({ here: true }, lose),
    "msg:custom": (message, buffers) => {
      if (message?.did) return done(message.did, message);
      for (const name of ["cells", "told"]) if (message?.[name]) announce(name, { [name]: message[name] });
      if (message?.clip) receive(message, buffers);
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
    for (const url of urls) URL.revokeObjectURL(url);
  };
}

/** Nothing is seen of it. */
function render({ el }: { el: HTMLElement }) {
  el.style.display = "none";
}

export default { initialize: serveFiles, render };
