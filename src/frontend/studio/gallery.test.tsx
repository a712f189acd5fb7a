import { render } from "preact";
import { act } from "preact/test-utils";
import { expect, test, vi } from "vitest";
import { Gallery } from "./gallery.tsx";

/** A gallery, what it asks the kernel, and what the kernel has on its shelf. */
async function drawn() {
  const asked: any[] = [];
  const heard = new Map<string, (content: unknown) => void>();
  let shelf: any = { cards: [], total: 0 };
  const link: any = {
    model: { get: () => shelf, on: () => {}, off: () => {}, send: () => {} },
    ask: (message: unknown) => asked.push(message),
    on: (key: string, listener: (content: unknown) => void) => {
      heard.set(key, listener);
      return () => heard.delete(key);
    },
  };
  const root = document.createElement("div");
  document.body.replaceChildren(root);
  await act(() => render(<Gallery link={link} />, root));
  const put = (now: unknown) => {
    shelf = now;
    return act(() => heard.get("change:shelf")?.({}));
  };
  const hear = (key: string, content: unknown) => act(() => heard.get(key)?.(content));
  return { root, asked, put, hear };
}

test("a gallery says that it looks until the kernel has answered", async () => {
  const { root, asked, put } = await drawn();
  const words = () => root.querySelector('[role="status"]')?.textContent;

  const before = words();
  await vi.waitFor(() => expect(asked).toHaveLength(1));
  await put({ cards: [], total: 0, of: 0 });

  expect(asked[0]).toMatchObject({ do: "find" });
  expect([before, words()]).toEqual(["Looking", ""]);
});

test("a run that is large is drawn again once it has ended", async () => {
  const { root, asked, put } = await drawn();
  const run = { key: "7", status: "running", mark: "◑", title: "a boat", name: "", facts: [], error: "" };
  await put({ cards: [run], total: 1, of: 1 });

  await act(() => root.querySelector<HTMLElement>("[data-run]")?.click());
  await put({ cards: [{ ...run, status: "completed" }], total: 1, of: 1 });

  expect(asked.filter((message) => message.do === "show")).toEqual([
    { do: "show", run: "7" },
    { do: "show", run: "7" },
  ]);
});

test("a run that was hidden is neither large nor chosen", async () => {
  const { root, asked, put, hear } = await drawn();
  const run = { key: "7", status: "completed", mark: "●", title: "a boat", name: "", facts: [], error: "" };
  const other = { ...run, key: "8" };
  const tick = (at: number) => act(() => root.querySelectorAll<HTMLElement>(".rbs-tick input")[at]?.click());
  await put({ cards: [other, run], total: 2, of: 2 });
  await tick(0);
  await tick(1);
  await act(() => root.querySelector<HTMLElement>("[data-run='7']")?.click());

  await hear("acted", { acted: ["7"], what: "hide" });
  await put({ cards: [other], total: 1, of: 2 });
  const deletes = [...root.querySelectorAll("button")].find((button) => button.textContent === "Delete…");
  await act(() => deletes?.click());

  expect(root.querySelector(".rbs-large")).toBe(null);
  expect(root.textContent).toContain("1 chosen");
  expect(asked.at(-1)).toMatchObject({ what: "delete", runs: ["8"] });
});
