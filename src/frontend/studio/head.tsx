/** The head of a studio: the choice of a model, the account, and what was spent. */

import { render } from "preact";
import { Quiet } from "../form/card.tsx";
import type { KernelLink } from "../form/kernel.ts";
import { hideTwin, staleTwin } from "../form/root.ts";
import { made } from "../page/element.ts";

const STUDIO_ANOTHER = "…";
const TRAITS = ["models", "chosen", "carried", "account", "cost"];
let studioHeads = 0;

export function makeHead(link: KernelLink, widget: HTMLElement) {
  const { model } = link;
  const name = `rbs-head-${(studioHeads += 1)}`;
  const stale = staleTwin(model, widget);
  const view = made("div", {});
  const el = made("div", { class: "rbs-head" }, view, stale.el);
  /** What was chosen and is not there yet; and whether an id is typed. */
  let wanted = "",
    typed = "",
    refused = "";
  let isTyping = false,
    isAsking = false;

  const find = (selector: string) => view.querySelector<HTMLElement>(selector);
  const choose = (which: string) => {
    [wanted, refused] = [which, ""];
    link.ask({ do: "choose", model: which });
    draw();
  };
  const select = (value: string) => {
    refused = "";
    isTyping = value === STUDIO_ANOTHER;
    // What was chosen before may open only now; that is no answer to what is typed here.
    if (!isTyping) return choose(value);
    wanted = "";
    draw();
    find(`#${name}-id`)?.focus();
  };
  const leave = () => {
    [wanted, refused, isTyping] = ["", "", false];
    draw();
    find(".rbs-model")?.focus();
  };
  const refresh = () => {
    isAsking = true;
    link.ask({ do: "refresh" }).then((isSent) => {
      if (!isSent) isAsking = false;
      draw();
    });
    draw();
  };

  const draw = () => {
    const models: any[] = model.get("models"),
      account = model.get("account");
    const chosen = models.find(({ id }) => id === model.get("chosen"));
    const isOpening = isTyping && !!wanted;
    render(
      <>
        <div class="rbs-choice">
          <label for={`${name}-model`} class="rbf-name">
            Model
          </label>
          <select
            id={`${name}-model`}
            class="rbs-model"
            value={isTyping ? STUDIO_ANOTHER : wanted || model.get("chosen")}
            title={chosen ? [chosen.purpose, chosen.id].filter(Boolean).join(" ") : ""}
            onChange={(event) => select(event.currentTarget.value)}
          >
            {models.map(({ id, title, price }) => (
              <option key={id} value={id}>
                {[title, price].filter(Boolean).join(" · ")}
              </option>
            ))}
            <option value={STUDIO_ANOTHER}>Another model…</option>
          </select>
          <span class="rbs-service" title={account.offers ? `It offers ${account.offers}.` : ""}>
            {[account.service, account.credits].filter(Boolean).join(" · ")}{" "}
            <Quiet
              label={isAsking ? "Asking …" : "Refresh"}
              aria-label="Refresh the account"
              aria-busy={isAsking}
              act={refresh}
            />
          </span>
          <span class="rbs-cost">{model.get("cost")}</span>
        </div>
        {isTyping ? (
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
                readOnly={isOpening}
                value={typed}
                onInput={(event) => {
                  typed = event.currentTarget.value;
                }}
                onKeyDown={(event) => {
                  if (event.key === "Enter") {
                    event.preventDefault();
                    if (!isOpening) choose(typed.trim());
                  } else if (event.key === "Escape") leave();
                }}
              />
              <button type="button" disabled={isOpening} onClick={() => choose(typed.trim())}>
                Open
              </button>
              <Quiet label="Cancel" act={leave} />
            </div>
          </div>
        ) : null}
        {refused ? (
          <p class="rbf-problem" role="alert">
            {refused}
          </p>
        ) : null}
        {account.trouble ? <p class="rbf-problem">{account.trouble}</p> : null}
        <p class="rbf-caption" role="status">
          {isOpening ? "Opening …" : wanted ? "" : model.get("carried")}
        </p>
      </>,
      view,
    );
  };
  const refuse = (words: string) => {
    [wanted, refused] = ["", words];
    draw();
    if (isTyping) find(`#${name}-id`)?.focus();
  };

  const offs = [
    link.on("opened", ({ opened }) => {
      if (opened !== wanted) return;
      const wasTyped = isTyping;
      [wanted, isTyping] = ["", false];
      if (wasTyped) typed = "";
      draw();
      if (wasTyped) find(".rbs-model")?.focus();
    }),
    link.on("refused", ({ refused: words }) => refuse(words)),
    link.on("trouble", ({ trouble }) => refuse(trouble)),
    link.on("asked", () => {
      isAsking = false;
      draw();
    }),
  ];
  for (const trait of TRAITS) model.on(`change:${trait}`, draw);
  draw();
  const unhide = hideTwin(model.get("twin"));
  link.send({ do: "here" }).catch(() => {});
  return {
    el,
    dispose: () => {
      for (const off of offs) off();
      for (const trait of TRAITS) model.off(`change:${trait}`, draw);
      render(null, view);
      stale.dispose();
      unhide();
    },
  };
}
