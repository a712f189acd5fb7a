/** The script of all forms: each control registers itself for the fields that it draws. */
import "./plain.ts";
import "./plain_choice.ts";
import "./nested.ts";
import "./image.ts";
import "./timeline.ts";
import "./sizes.ts";
import "./prompt.ts";
import "./special.ts";
import "./special_frames.ts";
import { renderForm } from "./form.ts";

export default { render: renderForm };
