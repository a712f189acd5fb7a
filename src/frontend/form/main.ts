/** The script of all forms: each control registers itself for the fields that it draws. */
import "./special.tsx";
import "./image.tsx";
import "./timeline.tsx";
import { renderForm } from "./form.tsx";

export default { render: renderForm };
