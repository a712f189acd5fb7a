// @ts-check
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const KEYS = "Space play, pause · ← → one frame · Shift ← → ten · Home first · End last · L loop · ? these keys";

/** @param {string} tag @param {string} text */
function labelled(tag, text) {
  return Object.assign(document.createElement(tag), { textContent: text });
}

/** @param {HTMLVideoElement} video */
function hover(video) {
  const end = () => { if ("rbHover" in video.dataset) video.pause(); };
  video.addEventListener("pointerenter", event => {
    if (event.pointerType === "touch" || calm.matches || !video.paused) return;
    for (const other of document.querySelectorAll("video[data-rb-hover]")) /** @type {HTMLVideoElement} */ (other).pause();
    video.dataset.rbHover = "";
    video.muted = true;
    video.play().catch(() => delete video.dataset.rbHover);
  });
  video.addEventListener("pointerleave", end);
  video.addEventListener("pause", () => delete video.dataset.rbHover);
  new IntersectionObserver(seen => { if (!seen[0].isIntersecting) video.pause(); }).observe(video);
}

/** @param {HTMLVideoElement} video @param {HTMLElement} root @param {HTMLElement} says */
function keys(video, root, says) {
  const rate = Number(root.dataset.rbRate), last = Number(root.dataset.rbFrames) - 1;
  let loops = true;
  // A clip that loops takes its last frame for its end, and jumps to the first.
  video.addEventListener("play", () => { video.loop = loops; });
  /** @param {number} frame */
  const go = frame => {
    const to = Math.min(Math.max(frame, 0), last);
    video.pause();
    video.loop = false;
    if (at() !== to) video.currentTime = (to + 0.5) / rate;
    says.textContent = `frame ${to + 1} of ${last + 1} · ${(to / rate).toFixed(2)} s`;
  };
  // A clip that shows its last frame is at its end, after the frame.
  const at = () => Math.min(Math.floor(video.currentTime * rate + 0.001), last);
  root.addEventListener("keydown", event => {
    if (event.target !== video || event.altKey || event.ctrlKey || event.metaKey) return;
    const step = event.shiftKey ? 10 : 1;
    /** @type {Record<string, () => void>} */
    /** @type {Record<string, (() => void) | undefined>} */
    const does = {
      " ": () => { video.paused ? video.play() : video.pause(); },
      ArrowLeft: () => go(at() - step), ArrowRight: () => go(at() + step),
      Home: () => go(0), End: () => go(last),
      l: () => { loops = !loops; if (!video.paused) video.loop = loops; says.textContent = loops ? "loops" : "plays once"; },
      "?": () => { says.textContent = says.textContent === KEYS ? "" : KEYS; },
    };
    const act = does[event.key];
    if (act) event.preventDefault();
    if (act || event.key.length === 1) event.stopPropagation();
    if (act) act();
  }, true);
}

/** @typedef {HTMLVideoElement | HTMLImageElement} Media */

/** @param {Media} media @param {HTMLElement} root */
function save(media, root) {
  if (!media.src.startsWith("data:") || !root.dataset.rbSave) return null;
  const preview = root.dataset.rbPreview ? `Save preview (${root.dataset.rbPreview})` : "Save preview";
  const link = /** @type {HTMLAnchorElement} */ (labelled("a", "rbWhole" in root.dataset ? "Save" : preview));
  link.href = media.src;
  link.download = root.dataset.rbSave;
  root.querySelector(".rb-actions")?.prepend(link);
  return link;
}

/** Show another file of the same clip or picture, where it was. @param {Media} media @param {string} url */
function swap(media, url) {
  if (!(media instanceof HTMLVideoElement)) return void (media.src = url);
  const { currentTime: at, paused } = media;
  media.src = url;
  if (at) media.currentTime = at;
  if (!paused) media.play().catch(() => null);
}

/**
 * Replace the preview with the original file, while a kernel can send it.
 * @param {Media} media @param {HTMLElement} root @param {HTMLAnchorElement} link
 */
function upgrade(media, root, link) {
  const [key, row] = (root.dataset.rbOriginal ?? "").split(" ");
  if (!key) return;
  const preview = { src: media.src, href: link.href, text: link.textContent, name: link.download };
  /** @param {boolean} isPreview */
  const toggleNote = (isPreview) => root.querySelectorAll("[data-rb-note]").forEach((note) => note.closest(".rb-word")?.toggleAttribute("hidden", !isPreview));
  let inView = false, isThere = false;
  /** @param {string | null} url */
  const answer = (url) => {
    if (!url || isThere) return;
    isThere = true;
    Object.assign(link, { href: url, textContent: "Save", download: root.dataset.rbName });
    // Loaded in a separate element first: if the browser cannot play it, it can still be saved, and the preview stays.
    const trial = /** @type {Media} */ (document.createElement(media.tagName));
    const show = () => {
      if (!isThere) return;
      swap(media, url);
      root.dataset.rbShows = "original";
      toggleNote(false);
    };
    if (trial instanceof HTMLVideoElement) { trial.muted = true; trial.preload = "auto"; trial.addEventListener("loadeddata", show, { once: true }); }
    else trial.addEventListener("load", show, { once: true });
    trial.src = url;
  };
  const ask = () => {
    if (inView && !isThere && root.isConnected) dispatchEvent(new CustomEvent("reelbook:want", { detail: { key, row: Number(row), place: 0, answer }, cancelable: true }));
  };
  const gone = () => {
    if (!isThere) return;
    isThere = false;
    Object.assign(link, { href: preview.href, textContent: preview.text, download: preview.name });
    if (root.dataset.rbShows) swap(media, preview.src);
    delete root.dataset.rbShows;
    toggleNote(true);
  };
  addEventListener("reelbook:here", (event) => { if (/** @type {CustomEvent} */ (event).detail.key === key) ask(); });
  addEventListener("reelbook:gone", (event) => { if (/** @type {CustomEvent} */ (event).detail.key === key) gone(); });
  new IntersectionObserver((seen) => { inView = seen[0].isIntersecting; ask(); }).observe(media);
}

/** @param {Element} code */
function copy(code) {
  const button = labelled("button", "Copy");
  button.addEventListener("click", async () => {
    const text = code.textContent ?? "";
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      getSelection()?.selectAllChildren(code);
      button.textContent = document.execCommand("copy") ? "Copied" : "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  code.closest("pre")?.before(button);
}

for (const found of document.querySelectorAll("[data-rb-figure]:not([data-rb-ready])")) {
  const root = /** @type {HTMLElement} */ (found);
  root.dataset.rbReady = "";
  const says = labelled("div", "");
  says.setAttribute("role", "status");
  const video = root.querySelector("video"), media = video ?? root.querySelector("img[data-rb-media]");
  root.querySelector("figcaption")?.append(says);
  const link = media && save(/** @type {Media} */ (media), root);
  if (link) upgrade(/** @type {Media} */ (media), root, link);
  root.querySelectorAll("pre > code").forEach(copy);
  if (!video) continue;
  const broken = () => { says.textContent = "This browser cannot play it; the pictures show what is in it."; };
  video.error ? broken() : video.addEventListener("error", broken);
  hover(video);
  keys(video, root, says);
}
