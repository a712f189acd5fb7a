/** The keys of all viewers, for a video with the browser's own buttons. */

import { made } from "../page/element.ts";

const VIDEO_KEYS = "Space play, pause · ← → one frame · Shift ← → ten · Home first · End last · L loop · ? these keys";

/** While the video has the focus. @param status Says which frame is on. */
export function videoKeys(
  video: HTMLVideoElement,
  { rate, frames }: { rate: number; frames: number },
  status: HTMLElement = made("span"),
) {
  const last = Math.max(frames - 1, 0);
  let loops = true;
  // A clip that loops takes its last frame for its end, and jumps to the first.
  video.addEventListener("play", () => {
    video.loop = loops;
  });
  // A clip that shows its last frame is at its end, after the frame.
  const at = () => Math.min(Math.floor(video.currentTime * rate + 0.001), last);
  const go = (frame: number) => {
    const to = Math.min(Math.max(frame, 0), last);
    video.pause();
    video.loop = false;
    if (at() !== to) video.currentTime = (to + 0.5) / rate;
    status.textContent = `frame ${to + 1} of ${last + 1} · ${(to / rate).toFixed(2)} s`;
  };
  video.addEventListener(
    "keydown",
    (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      const step = event.shiftKey ? 10 : 1;
      const known: Record<string, (() => void) | undefined> = {
        " ": () => {
          video.paused ? video.play().catch(() => null) : video.pause();
        },
        ArrowLeft: () => go(at() - step),
        ArrowRight: () => go(at() + step),
        Home: () => go(0),
        End: () => go(last),
        l: () => {
          loops = !loops;
          if (!video.paused) video.loop = loops;
          status.textContent = loops ? "loops" : "plays once";
        },
        "?": () => {
          status.textContent = status.textContent === VIDEO_KEYS ? "" : VIDEO_KEYS;
        },
      };
      const act = known[event.key];
      if (act) event.preventDefault();
      if (act || event.key.length === 1) event.stopPropagation(); // Jupyter would run or add a cell.
      act?.();
    },
    true,
  ); // Before the buttons inside of the video.
}
