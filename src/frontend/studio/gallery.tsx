/** The shelf of a studio: all runs of the library as cards, one of them large, some of them chosen. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Card, Poster, State, UseIn } from "../form/card.tsx";
import { KERNEL_ENDED, type KernelLink, useNews } from "../form/link.ts";
import { Options, Quiet } from "../form/ui.tsx";
import { serveFiles } from "../page/kernel_link.ts";

type Run = {
  key: string;
  status: string;
  mark: string;
  title: string;
  name: string;
  facts: string[];
  error: string;
  file?: number;
  star: boolean;
  hidden: boolean;
};

const PAGE = 24;
const PAUSE = 250; // Milliseconds after the last letter before it is looked for.
const ONLY = { "": "All but hidden", starred: "Starred", hidden: "Hidden" };

export function Gallery({ link }: { link: KernelLink }) {
  const { model } = link;
  const { cards: runs, total, of, words, uses }: any = model.get("shelf");
  const [wish, look] = useState({ text: "", only: "", count: PAGE });
  const [opened, setOpened] = useState("");
  /** What the kernel has drawn of that which is large. */
  const [html, draw] = useState("");
  const [picked, pick] = useState<string[]>([]);
  const [said, say] = useState("");
  /** What deleting would cost, until somebody says yes or no. */
  const [asks, ask] = useState<{ words: string; keys: string[] } | null>(null);
  const root = useRef<HTMLDivElement>(null);
  const large = useRef<HTMLElement>(null);

  const find = () => link.ask({ do: "find", ...wish });
  const act = (what: string, keys: string[], more: any = {}) => {
    ask(null);
    say(what === "save" ? "…" : "");
    link.ask({ do: "act", what, runs: keys, ...more });
  };
  /** Show this large, or nothing. */
  const open = (key: string) => {
    say("");
    ask(null);
    draw("");
    if (!key) root.current?.querySelector<HTMLElement>(`[data-run="${opened}"]`)?.focus();
    setOpened(key);
  };
  useNews(link, ["ended"], {
    card: (content) => content.card === opened && draw(content.html),
    acted: ({ acted, what, words, ask: question, used }) => {
      // What leaves the list is not large either.
      if (what === "hide" || (what === "unmark" && wish.only)) open("");
      ask(question ? { words: question, keys: acted } : null);
      say(words ?? "");
      if (what === "delete" && !question) pick(picked.filter((key) => !acted.includes(key)));
      // Go to the form, which has been filled.
      const head = used ? root.current?.closest(".widget-vbox")?.querySelector<HTMLElement>(".rbs-model") : null;
      head?.focus();
    },
    trouble: ({ trouble }) => say(trouble),
    "change:shelf": () => {},
    // Of a kernel that is restarted the host knows at once.
    comm_live_update: find,
  });
  useEffect(() => serveFiles({ model }), []);
  useEffect(() => {
    const timer = setTimeout(find, of === undefined ? 0 : PAUSE);
    return () => clearTimeout(timer);
  }, [wish]);
  useLayoutEffect(() => {
    large.current?.focus({ preventScroll: true });
    large.current?.scrollIntoView({ block: "nearest" });
  }, [opened]);

  const run: Run | undefined = runs.find(({ key }: Run) => key === opened);
  /** Of the chosen ones those that are shown: what is not seen is not deleted. */
  const chosen: Run[] = runs.filter(({ key }: Run) => picked.includes(key));
  useEffect(() => {
    if (opened) link.ask({ do: "show", run: opened });
  }, [opened, run?.status]);
  const at = runs.indexOf(run);
  const onKeyDown = (event: any) => {
    const next = { ArrowUp: runs[at - 1]?.key, ArrowDown: runs[at + 1]?.key, Escape: "" }[event.key as string];
    if (next === undefined || /^(SELECT|INPUT)$/.test(event.target.tagName)) return;
    event.preventDefault();
    open(next);
  };
  const use = (message: any) => act(message.what, [opened], message);
  /** What can be done with one run, or with several. */
  const tools = (those: Run[]) => {
    const keys = those.map(({ key }) => key);
    const hasStars = those.every(({ star }) => star);
    const isHidden = those.every(({ hidden }) => hidden);
    // Only about the runs that it is about.
    if (asks && String([...asks.keys].sort()) === String([...keys].sort()))
      return (
        <span role="alert">
          {asks.words}{" "}
          <button type="button" onClick={() => act("delete", asks.keys, { sure: true })}>
            Delete
          </button>{" "}
          <Quiet act={() => ask(null)}>Keep</Quiet>
        </span>
      );
    return (
      <>
        <Quiet aria-pressed={hasStars} act={() => act(hasStars ? "unmark" : "star", keys)}>
          {hasStars ? "★ Starred" : "☆ Star"}
        </Quiet>
        <Quiet act={() => act(isHidden ? "unmark" : "hide", keys)}>{isHidden ? "Show again" : "Hide"}</Quiet>
        <Quiet title="Next to the notebook, under readable names" act={() => act("save", keys)}>
          Save to a folder
        </Quiet>
        <Quiet act={() => act("delete", keys)}>Delete…</Quiet>
      </>
    );
  };

  const matching = total < of ? `${total.toLocaleString("en")} of ` : "";
  const amount = of ? `${matching}${of.toLocaleString("en")} run${of === 1 ? "" : "s"}` : "";
  const told = [opened ? "" : said, amount].filter(Boolean).join(" · ");
  const none = of ? "No run in the library matches." : "Your runs appear here.";
  return (
    <div class="rbs-gallery" ref={root}>
      <div class="rbs-bar">
        <b>Gallery</b>
        <span class="rbf-caption" role="status">
          {link.hasEnded ? KERNEL_ENDED : (words ?? (of === undefined ? "Looking" : told))}
        </span>
      </div>
      <div class="rbs-tools">
        <input
          type="search"
          placeholder="Search"
          aria-label="Search in prompts, models and errors"
          value={wish.text}
          onInput={({ currentTarget: { value } }) => look({ ...wish, text: value, count: PAGE })}
        />
        <select
          aria-label="Which runs"
          value={wish.only}
          onChange={({ currentTarget: { value } }) => look({ ...wish, only: value, count: PAGE })}
        >
          <Options all={Object.entries(ONLY)} />
        </select>
      </div>
      {chosen.length > 0 && (
        <div class="rbf-row">
          {!opened && tools(chosen)}
          <Quiet act={() => pick([])}>Clear</Quiet>
          <span class="rbf-caption" role="status">{`${chosen.length} chosen`}</span>
        </div>
      )}
      {opened && (
        <section
          key={opened}
          ref={large}
          class="rbf-runs rbs-large"
          tabIndex={-1}
          aria-label={run?.title ?? `run ${opened}`}
          onKeyDown={onKeyDown}
        >
          <div class="rbs-bar">
            <span class="rbf-caption">{run && `${run.name} · run ${run.key} · ↑ ↓ lead to others`}</span>
            <Quiet act={() => open("")}>Close</Quiet>
          </div>
          <Card label={`run ${opened}`} html={html} said={said}>
            <Quiet act={() => use({ what: "use" })}>Use these inputs</Quiet>
            {run?.file !== undefined && <UseIn uses={uses} act={use} />}
            {run && tools([run])}
          </Card>
        </section>
      )}
      {!runs.length && of !== undefined && <p class="rbf-caption">{none}</p>}
      <ul class="rbs-cards" aria-label="runs of the library, newest first">
        {runs.map(({ key, status, mark, title, facts, error, file, star }: Run) => (
          <li key={key}>
            <button
              type="button"
              class="rbs-card"
              data-run={key}
              aria-pressed={key === opened}
              title={[error, title, ...facts].filter(Boolean).join("\n")}
              onClick={() => open(key === opened ? "" : key)}
            >
              <Poster fileKey={model.get("key")} file={file} sign={mark} />
              <span class="rbs-state">
                <span>
                  <State mark={mark} status={status} />
                </span>
                {star && <span title="Starred">★</span>}
              </span>
              <span class="rbs-words">
                {error && <span class="rbs-error">{error}</span>}
                <bdi class="rbs-lead">{title}</bdi>
                {facts.map((fact) => (
                  <span key={fact}>{fact}</span>
                ))}
              </span>
            </button>
            <label class="rbs-tick">
              <input
                type="checkbox"
                checked={picked.includes(key)}
                aria-label={`Choose run ${key}, ${title}`}
                onChange={({ currentTarget: { checked } }) =>
                  pick(checked ? [...picked, key] : picked.filter((other) => other !== key))
                }
              />
              <span>Choose</span>
            </label>
          </li>
        ))}
      </ul>
      {runs.length < total && (
        <button type="button" class="rbs-more" onClick={() => look({ ...wish, count: wish.count + PAGE })}>
          Show more
        </button>
      )}
    </div>
  );
}
