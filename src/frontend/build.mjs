/** Bundles the scripts and style sheets of pages and widgets: `node build.mjs HASH [--dev]`. */

import { copyFile, mkdir, rm, writeFile } from "node:fs/promises";
import { build } from "esbuild";

const OUT = "../reelbook/static";
const [hash, mode] = process.argv.slice(2);
const isDev = mode === "--dev";

/** What is built from what. A page has no address to import from, so that each script has all it needs. */
const ENTRIES = {
  compare: "compare/compare.ts",
  explorer: "explorer/explorer.ts",
  figure: "page/figure.ts",
  form: "form/main.ts",
  gallery: "page/gallery.ts",
  grid: "grid/grid.ts",
  judge: "judge/judge.ts",
  kernel_link: "page/kernel_link.ts",
  loader: "page/loader.ts",
  panel: "page/panel.ts",
  plot: "plot/plot.ts",
  posters: "page/posters.ts",
  report: "page/report.ts",
  studio: "studio/studio.tsx",
  table: "table/table.ts",
};
const STYLES = {
  clock: "media/clock.css",
  clip_grid: "grid/grid.css",
  compare: "compare/compare.css",
  costs: "page/costs.css",
  explorer: "explorer/explorer.css",
  figure: "page/figure.css",
  form: "form/main.css",
  judge: "judge/judge.css",
  player: "page/player.css",
  plot: "plot/plot.css",
  report: "page/report.css",
  studio: "studio/main.css",
  table: "table/table.css",
  tokens: "page/tokens.css",
};

await rm(OUT, { recursive: true, force: true });
await mkdir(OUT);
for (const entryPoints of [ENTRIES, STYLES]) {
  const language = { format: "esm", target: "es2022", charset: "utf8", jsx: "automatic", jsxImportSource: "preact" };
  const options = { entryPoints, outdir: OUT, bundle: true, ...language };
  // It says itself what is wrong.
  await build({ ...options, minify: !isDev, sourcemap: isDev && "inline", logLevel: "warning" }).catch(() =>
    process.exit(1),
  );
}
await copyFile("node_modules/preact/LICENSE", `${OUT}/preact.LICENSE`); // It is part of form.js and studio.js.
await writeFile(`${OUT}/build.txt`, hash); // Last, because it says that all else is there.
