/** The head of a studio: the choice of a model, the account, and what was spent. */

import { useEffect, useState } from "preact/hooks";
import { type KernelLink, useNews } from "../form/link.ts";
import { Options, useHiddenTwin } from "../form/ui.tsx";

export function Head({ link }: { link: KernelLink }) {
  const { model } = link;
  /** What was chosen and is not there yet. */
  const [wanted, want] = useState("");
  const [refused, refuse] = useState("");
  const choose = async (id: string) => {
    want(id);
    const { error = "" } = await link.request({ do: "choose", model: id });
    want("");
    refuse(error);
  };
  useNews(link, ["change:models", "change:chosen", "change:carried", "change:account", "change:cost"]);
  useHiddenTwin(model);
  useEffect(() => {
    link.ask({ do: "here" });
  }, []);
  const models: any[] = model.get("models");
  const chosen = models.find(({ id }) => id === model.get("chosen"));
  return (
    <div class="rbs-head">
      <div class="rbs-choice">
        <label>
          <span class="rbf-name">Model</span>
          <select
            class="rbs-model"
            value={wanted || model.get("chosen")}
            title={[chosen?.purpose, chosen?.id].filter(Boolean).join(" ")}
            onChange={(event) => choose(event.currentTarget.value)}
          >
            <Options all={models.map(({ id, title, price }) => [id, [title, price].filter(Boolean).join(" · ")])} />
          </select>
        </label>
        <span class="rbs-service">{model.get("account")}</span>
        <span class="rbs-cost">{model.get("cost")}</span>
      </div>
      <p class="rbf-problem" role="alert" hidden={!refused}>
        {refused}
      </p>
      <p class="rbf-caption" role="status">
        {wanted ? "" : model.get("carried")}
      </p>
    </div>
  );
}
