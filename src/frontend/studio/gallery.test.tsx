import { render } from "preact";
import { act } from "preact/test-utils";
import { expect, test, vi } from "vitest";
import { Gallery } from "./gallery.tsx";

test("a gallery says that it looks until the kernel has answered", async () => {
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
  await act(() => render(<Gallery link={link} />, document.body));
  const words = () => document.querySelector('[role="status"]')?.textContent;

  const before = words();
  await vi.waitFor(() => expect(asked).toHaveLength(1));
  shelf = { ...shelf, of: 0 };
  await act(() => heard.get("change:shelf")?.({}));

  expect(asked[0]).toMatchObject({ do: "find" });
  expect([before, words()]).toEqual(["Looking", ""]);
});
