import { beforeEach, describe, expect, test } from "vitest";
import { askFile, askKernel, onKernel } from "./kernel_files.ts";
import { serveFiles } from "./kernel_link.ts";

/** A connection whose kernel is this test. */
function connect(key: string) {
  const heard: Record<string, (...values: any[]) => void> = {};
  const link = {
    sent: [] as any[],
    isLost: false,
    heard,
    close: () => {},
  };
  const model = {
    get: (name: string) => ({ key, selected: [4] })[name],
    on: (name: string, act: () => void) => (heard[name] = act),
    off: (name: string) => delete heard[name],
    send: async (message: any) => {
      if (link.isLost) throw new Error("The connection is gone.");
      link.sent.push(message);
    },
  };
  link.close = serveFiles({ model });
  return link;
}

beforeEach(() => {
  URL.createObjectURL = () => "blob:of-this-page";
  URL.revokeObjectURL = () => {};
});

describe("a connection", () => {
  test("asks for a file once, puts its parts together, and leaves those of others alone", async () => {
    const { heard, sent } = connect("one");
    const files = [askFile({ key: "one", row: 2 }), askFile({ key: "one", row: 2 })];

    heard["msg:custom"]({ clip: [7, 0], part: 0, of: 1, kind: "video/mp4" }, [new Uint8Array(1)]);
    heard["msg:custom"]({ clip: [2, 0], part: 1, of: 2 }, [new Uint8Array([3])]);
    heard["msg:custom"]({ clip: [2, 0], part: 0, of: 2, kind: "video/mp4", index: { rate: "24/1" } }, [
      new Uint8Array(2),
    ]);
    const [first, second] = await Promise.all(files);

    expect(sent.filter(({ want }) => want)).toEqual([{ want: [2, 0] }]);
    expect(first).toEqual(second);
    expect([first.url, first.found.index.rate, first.found.blob.size]).toEqual(["blob:of-this-page", "24/1", 3]);
  });

  test("says in the kernel's words why there is no file", async () => {
    const { heard } = connect("two");
    const file = askFile({ key: "two", row: 0 });

    heard["msg:custom"]({ clip: [0, 0], words: "a.mp4 is not there any more." }, []);

    expect((await file).words).toBe("a.mp4 is not there any more.");
  });

  test("takes orders, and knows the answer by its number", async () => {
    const { heard, sent } = connect("three");
    const answer = askKernel("three", { do: "still" });
    const { id } = sent.find((message) => message.do === "still");

    heard["msg:custom"]({ did: "another", path: "a" }, []);
    heard["msg:custom"]({ did: id, path: "b" }, ["bytes"]);

    expect(await answer).toEqual({ did: id, path: "b" });
  });

  test("of a kernel that has ended says so to whoever waits, and to its displays", async () => {
    const link = connect("four");
    const words: string[] = [];
    onKernel("four", (detail) => words.push(detail.words), "gone");
    const [file, answer] = [askFile({ key: "four", row: 0 }), askKernel("four", { do: "still" })];

    link.isLost = true;
    link.heard.comm_live_update();

    expect((await file).words).toBe("The kernel has ended; run the cell again to continue.");
    expect((await answer).gone).toBe("The kernel has ended; run the cell again to continue.");
    expect(words).toEqual(["The kernel has ended; run the cell again to continue."]);
  });

  test("sends the rows that are ticked, and nothing after it is closed", async () => {
    const link = connect("five");
    const tick = () => dispatchEvent(new CustomEvent("reelbook:selected", { detail: { key: "five", rows: [1, 3] } }));

    tick();
    link.close();
    tick();

    expect(link.sent.filter(({ selected }) => selected)).toEqual([{ selected: [1, 3] }]);
    expect(await askKernel("five", { do: "still" })).toBe(null);
  });
});

test("where nobody answers, words say what to do", async () => {
  expect(await askFile({ key: "nobody", row: 0 })).toEqual({ words: "Run the cell again to see it here." });
  expect(await askKernel("nobody", {})).toBe(null);
});
