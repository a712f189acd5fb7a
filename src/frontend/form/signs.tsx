/** Small drawings in the colour of the words around them, and buttons that show one. */

import { Quiet } from "./fields.tsx";

const SIGNS = {
  up: "M8 13V3M4 7l4-4 4 4",
  down: "M8 3v10M4 9l4 4 4-4",
  remove: "M4 4l8 8M12 4l-8 8",
  locked: "M4 7.5h8V13H4zM5.5 7.5V5.5a2.5 2.5 0 0 1 5 0v2",
  unlocked: "M4 7.5h8V13H4zM5.5 7.5V5a2.5 2.5 0 0 1 4.8-1",
  dice: "M3.5 3h9a.5.5 0 0 1 .5.5v9a.5.5 0 0 1-.5.5h-9a.5.5 0 0 1-.5-.5v-9a.5.5 0 0 1 .5-.5zM5.8 5.8h.01M10.2 5.8h.01M8 8h.01M5.8 10.2h.01M10.2 10.2h.01",
  // What stands where there is no picture to see.
  none: "M3 3h10v10H3zM3 11l3-3 2.5 2.5L10.5 9l2.5 2.5M10 6h.01",
  away: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM2.5 8h11M8 2.5c2.2 2 2.2 9 0 11M8 2.5c-2.2 2-2.2 9 0 11",
  wrong: "M8 3v6.5M8 12.5h.01",
};

export type SignName = keyof typeof SIGNS;

/** Nothing for those who hear the page. */
export function Sign({ sign, class: kind = "rbf-special-sign" }: { sign: SignName; class?: string }) {
  return (
    <svg viewBox="0 0 16 16" width={16} height={16} class={kind} aria-hidden="true" focusable="false">
      <path d={SIGNS[sign]} />
    </svg>
  );
}

interface SignButtonProps {
  sign: SignName;
  says: string;
  title?: string;
  act: () => void;
  isOff?: boolean;
  isPressed?: boolean;
  isHidden?: boolean;
}

/** A small button that shows a sign and says what it does. */
export function SignButton({ sign, says, title = says, act, isOff = false, isPressed, isHidden }: SignButtonProps) {
  return (
    <Quiet
      class="rbf-special-sign-button"
      title={title}
      aria-label={says}
      aria-pressed={isPressed}
      hidden={isHidden}
      act={act}
      isOff={isOff}
    >
      <Sign sign={sign} />
    </Quiet>
  );
}
