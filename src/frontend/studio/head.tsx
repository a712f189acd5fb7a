/** The head of a studio: the choice of a model, the account, and what was spent. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type KernelLink, useNews } from "../form/link.ts";
import { Quiet, useHiddenTwin } from "../form/ui.tsx";

const ANOTHER = "…";

export function Head({ link }: { link: KernelLink }) {
  const { model } = link;
  const [name] = useState(() => `rbs-${crypto.getRandomValues(new Uint32Array(1))[0]}`);
  /** What was chosen and is not there yet; and whether an id is typed. */
  const [wanted, want] = useState("");
  const [typed, type] = useState("");
  const [refused, refuse] = useState("");
  const [isTyping, setTyping] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const select = useRef<HTMLSelectElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const wasTyping = useRef(false);

  const choose = (which: string) => {
    want(which);
    refuse("");
    link.ask({ do: "choose", model: which });
  };
  const turn = (types: boolean) => {
    want("");
    type("");
    refuse("");
    setTyping(types);
  };
  const selected = (value: string) => {
    // What was chosen before may open only now; that is no answer to what is typed here.
    if (value === ANOTHER) return turn(true);
    setTyping(false);
    choose(value);
  };
  const refresh = async () => {
    setAsking(true);
    if (!(await link.ask({ do: "refresh" }))) setAsking(false);
  };
  const hearRefusal = (words: string) => {
    want("");
    refuse(words);
    input.current?.focus();
  };
  useNews(link, ["change:models", "change:chosen", "change:carried", "change:account", "change:cost"], {
    opened: ({ opened }) => {
      if (opened === wanted) turn(false);
    },
    refused: (content) => hearRefusal(content.refused),
    trouble: (content) => hearRefusal(content.trouble),
    asked: () => setAsking(false),
  });
  useHiddenTwin(model);
  useEffect(() => {
    link.ask({ do: "here" });
  }, []);
  useLayoutEffect(() => {
    if (isTyping) input.current?.focus();
    else if (wasTyping.current) select.current?.focus();
    wasTyping.current = isTyping;
  }, [isTyping]);

  const account = model.get("account");
  const models: any[] = model.get("models");
  const chosen = models.find(({ id }) => id === model.get("chosen"));
  const isOpening = isTyping && !!wanted;
  return (
    <div class="rbs-head">
      <div class="rbs-choice">
        <label for={`${name}-model`} class="rbf-name">
          Model
        </label>
        <select
          id={`${name}-model`}
          class="rbs-model"
          ref={select}
          value={isTyping ? ANOTHER : wanted || model.get("chosen")}
          title={[chosen?.purpose, chosen?.id].filter(Boolean).join(" ")}
          onChange={(event) => selected(event.currentTarget.value)}
        >
          {models.map(({ id, title, price }) => (
            <option key={id} value={id}>
              {[title, price].filter(Boolean).join(" · ")}
            </option>
          ))}
          <option value={ANOTHER}>Another model…</option>
        </select>
        <span class="rbs-service" title={account.offers ? `It offers ${account.offers}.` : ""}>
          {[account.service, account.credits].filter(Boolean).join(" · ")}{" "}
          <Quiet aria-label="Refresh the account" aria-busy={isAsking} act={refresh}>
            {isAsking ? "Asking …" : "Refresh"}
          </Quiet>
        </span>
        <span class="rbs-cost">{model.get("cost")}</span>
      </div>
      {isTyping && (
        <div class="rbs-another">
          <label for={`${name}-id`}>Model id</label>
          <div class="rbf-row">
            <input
              id={`${name}-id`}
              type="text"
              spellcheck={false}
              autocomplete="off"
              autocapitalize="off"
              placeholder="svc/some-model"
              ref={input}
              readOnly={isOpening}
              value={typed}
              onInput={(event) => type(event.currentTarget.value)}
              onKeyDown={(event) => {
                if (event.key === "Escape") turn(false);
                else if (event.key === "Enter" && !isOpening) choose(typed.trim());
              }}
            />
            <button type="button" disabled={isOpening} onClick={() => choose(typed.trim())}>
              Open
            </button>
            <Quiet act={() => turn(false)}>Cancel</Quiet>
          </div>
        </div>
      )}
      {refused && (
        <p class="rbf-problem" role="alert">
          {refused}
        </p>
      )}
      {account.trouble && <p class="rbf-problem">{account.trouble}</p>}
      <p class="rbf-caption" role="status">
        {isOpening ? "Opening …" : wanted ? "" : model.get("carried")}
      </p>
    </div>
  );
}
