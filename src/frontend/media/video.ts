/** A clip with the browser's own buttons. */

import { made, watchSight } from "../page/element.ts";
import { KEYS, keys, type Player } from "./controls.ts";

export const isCalm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** Muted, and played again from the beginning at its end. */
export function makeVideo(url: string, label: string, attributes: Record<string, string> = {}) {
  const video = made("video", { controls: "", loop: "", playsinline: "", "aria-label": label, ...attributes });
  video.muted = video.defaultMuted = true;
  video.src = url;
  return video;
}

/**
 * Give a video the keys of all players while it has the focus, and stop it out of view.
 * @param status Says which frame is on.
 */
export function enliven(
  video: HTMLVideoElement,
  { rate, frames }: { rate: number; frames: number },
  status = made("span"),
) {
  const last = Math.max(frames - 1, 0);
  let loops = true;
  // A clip that loops takes its last frame for its end, and jumps to the first.
  video.addEventListener("play", () => {
    video.loop = loops;
  });
  // A clip that shows its last frame is at its end, after the frame.
  const at = () => Math.min(Math.floor(video.currentTime * rate + 0.001), last);
  const player: Player = {
    frames: last + 1,
    toggle: () => (video.paused ? video.play().catch(() => null) : video.pause()),
    step: (by) => player.seek(at() + by),
    seek(frame) {
      const to = Math.min(Math.max(frame, 0), last);
      video.pause();
      video.loop = false;
      if (at() !== to) video.currentTime = (to + 0.5) / rate;
      status.textContent = `frame ${to + 1} of ${last + 1} · ${(to / rate).toFixed(2)} s`;
    },
    turnLoop() {
      loops = !loops;
      if (!video.paused) video.loop = loops;
      status.textContent = loops ? "loops" : "plays once";
    },
  };
  const help = () => {
    status.textContent = status.textContent === KEYS ? "" : KEYS;
  };
  // Before the buttons inside of the video.
  video.addEventListener("keydown", (event) => keys(event, player, { "?": help }), true);
  video.addEventListener("keydown", (event) => {
    if (event.key.length === 1 && !event.altKey && !event.ctrlKey && !event.metaKey) event.stopPropagation(); // Jupyter would run or add a cell.
  });
  watchSight(video, (isInView) => isInView || video.pause());
}
