/** The head of a studio: the choice of a model, the account, and what was spent. */

import { quietButton } from "../form/quiet.ts";
import { hideTwin, staleTwin } from "../form/root.ts";
import { made } from "../page/element.ts";
import type { StudioLink } from "./link.ts";

const STUDIO_ANOTHER = "…";
let studioHeads = 0;

export function studioHead(link: StudioLink, widget: HTMLElement) {
  const { model } = link;
  const name = `rbs-head-${(studioHeads += 1)}`;
  const words = made("p", { class: "rbf-problem", role: "alert", hidden: true });
  const about = made("p", { class: "rbf-caption" });
  const said = made("p", { class: "rbf-caption", role: "status" });
  const account = studioAccount(link);
  const stale = staleTwin(model, widget);
  const select = made("select", { class: "rbs-model", id: `${name}-model` });
  const id = made("input", {
    type: "text",
    id: `${name}-id`,
    spellcheck: "false",
    autocomplete: "off",
    autocapitalize: "off",
    placeholder: "svc/some-model",
  });
  const open = made("button", { type: "button", text: "Open" });
  const cancel = quietButton("Cancel", () => leave());
  const another = made(
    "div",
    { class: "rbs-another", hidden: true },
    made("label", { for: id.id, text: "Model id" }),
    made("div", { class: "rbf-row" }, id, open, cancel),
  );
  const el = made(
    "div",
    { class: "rbs-head" },
    made(
      "div",
      { class: "rbs-choice" },
      made("label", { for: select.id, class: "rbf-name", text: "Model" }),
      select,
      about,
    ),
    another,
    words,
    said,
    account.el,
    stale.el,
  );
  let wanted = "",
    drawn = "";

  const show = () => {
    const models = model.get("models");
    const text = JSON.stringify(models);
    if (text !== drawn) {
      drawn = text;
      const options = models.map((one: any) => made("option", { value: one.id, text: studioModelWords(one) }));
      select.replaceChildren(...options, made("option", { value: STUDIO_ANOTHER, text: "Another model…" }));
    }
    if (another.hidden) select.value = wanted || model.get("chosen");
    const chosen = models.find((one: any) => one.id === model.get("chosen"));
    about.textContent = chosen ? [chosen.purpose, chosen.id].filter(Boolean).join(" ") : "";
    if (!wanted) said.textContent = model.get("carried");
  };

  const refuse = (message: string) => {
    wanted = "";
    words.textContent = message;
    words.hidden = false;
    open.disabled = id.readOnly = false;
    show();
    if (!another.hidden) id.focus();
  };

  const choose = (which: string) => {
    wanted = which;
    words.hidden = true;
    if (!another.hidden) {
      open.disabled = id.readOnly = true;
      said.textContent = "Opening …";
    }
    link.ask({ do: "choose", model: which });
  };

  const away = () => {
    another.hidden = true;
    open.disabled = id.readOnly = false;
  };

  select.addEventListener("change", () => {
    words.hidden = true;
    if (select.value === STUDIO_ANOTHER) {
      // What was chosen before may open only now; that is no answer to what is typed here.
      wanted = "";
      another.hidden = false;
      id.focus();
      id.select();
      return;
    }
    away();
    choose(select.value);
  });
  const enter = () => {
    if (!open.disabled) choose(id.value.trim());
  };
  id.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      enter();
    } else if (event.key === "Escape") leave();
  });
  open.addEventListener("click", enter);
  const leave = () => {
    wanted = "";
    words.hidden = true;
    away();
    show();
    select.focus();
  };

  const offs = [
    link.on("opened", (content) => {
      if (content.opened !== wanted) return;
      const wasTyped = !another.hidden;
      wanted = "";
      away();
      show();
      if (wasTyped) {
        id.value = "";
        select.focus();
      }
    }),
    link.on("refused", (content) => refuse(content.refused)),
    link.on("trouble", (content) => refuse(content.trouble)),
  ];
  link.follow(["models", "chosen", "carried"], show);
  link.follow(["account", "cost"], account.show);
  const unhide = hideTwin(model.get("twin"));
  link.send({ do: "here" }).catch(() => {});
  return {
    el,
    dispose: () => {
      offs.forEach((off) => off());
      account.dispose();
      stale.dispose();
      unhide();
    },
  };
}

function studioModelWords(one: any) {
  return [one.title, one.price].filter(Boolean).join(" · ");
}

/** Whose account it is, what is left of it, and what was spent here. */
function studioAccount(link: StudioLink) {
  const service = made("span", {});
  const left = made("span", { class: "rbs-left" });
  const refresh = made("button", {
    type: "button",
    class: "rbf-quiet",
    text: "Refresh",
    "aria-label": "Refresh the account",
  });
  const cost = made("div", { class: "rbs-cost" });
  const trouble = made("p", { class: "rbf-problem", hidden: true });
  const el = made(
    "div",
    { class: "rbs-account" },
    made("div", { class: "rbs-service" }, service, left, refresh),
    cost,
    trouble,
  );
  refresh.addEventListener("click", () => {
    refresh.setAttribute("aria-busy", "true");
    refresh.textContent = "Asking …";
    link.ask({ do: "refresh" }).then((isSent) => isSent || rest());
  });
  const rest = () => {
    refresh.removeAttribute("aria-busy");
    refresh.textContent = "Refresh";
  };
  const off = link.on("asked", rest);
  return {
    el,
    show: () => {
      const account = link.model.get("account");
      service.textContent = account.service ?? "";
      left.textContent = account.credits ? ` · ${account.credits}` : "";
      // For those who want to know; most do not.
      service.title = account.offers ? `It offers ${account.offers}.` : "";
      trouble.textContent = account.trouble ?? "";
      trouble.hidden = !account.trouble;
      cost.textContent = link.model.get("cost");
    },
    dispose: off,
  };
}
