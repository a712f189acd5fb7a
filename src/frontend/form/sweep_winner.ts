/** What a race has found: the best setting in words, a button that takes its values, and the clips of its runs, the best first. */
import { made } from "../page/element.ts";
import { sweepFilm } from "./sweep_film.ts";

export function sweepWinner(link: any, job: string, words: string, isDecided: boolean) {
  const said = made("span", { class: "rbf-caption", role: "status" });
  const use = made("button", {
    type: "button",
    text: "Use these values",
    title: "Fill the form with the inputs of the best run",
    onclick: () => {
      said.textContent = "";
      link.ask({ do: "sweep_use", job });
    },
  }) as HTMLButtonElement;
  const film = sweepFilm(link, job, { isFirstOpen: true });
  const el = made(
    "div",
    { class: "rbf-sweep-winner" },
    made("p", {}, isDecided ? "Best: " : "Leads so far: ", made("b", {}, made("bdi", { text: words }))),
    made("div", { class: "rbf-row" }, use, said),
    film.el,
  );
  const offs = [
    link.on("sweep_used", (content: any) => {
      if (content.sweep_used === job) said.textContent = content.why || "The form has these values now.";
    }),
    link.on("ended", () => {
      use.disabled = true;
    }),
  ];
  return {
    el,
    dispose: () => {
      offs.forEach((off) => off());
      film.dispose();
      el.remove();
    },
  };
}
