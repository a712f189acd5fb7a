// @ts-check
/** Fetches what draws a form from the kernel, once for a page, and lets it draw. */

/** @param {any} model @param {string} key @returns {Promise<ArrayBuffer | DataView>} */
function fetchScript(model, key) {
  return new Promise((resolve, reject) => {
    /** @param {any} content @param {any[]} buffers */
    const onMessage = (content, buffers) => {
      if (content?.script !== key) return;
      model.off("msg:custom", onMessage);
      resolve(buffers[0]);
    };
    model.on("msg:custom", onMessage);
    Promise.resolve(model.send({ do: "script" })).catch(reject);
  });
}

/** @param {any} model @param {string} key @returns {Promise<any>} */
async function load(model, key) {
  const stream = new Blob([await fetchScript(model, key)]).stream().pipeThrough(new DecompressionStream("gzip"));
  const address = URL.createObjectURL(new Blob([await new Response(stream).text()], { type: "text/javascript" }));
  try {
    return await import(address);
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** @param {{model: any, el: HTMLElement}} view */
async function render(view) {
  // marimo names its theme on the body, and puts widgets where no rule of the page reaches.
  for (const name of ["light-theme", "dark-theme"]) view.el.classList.toggle(name, document.body.classList.contains(name));
  const known = ((/** @type {any} */ (globalThis)).__reelbookForms ??= new Map());
  const key = view.model.get("script_key");
  if (!known.has(key)) known.set(key, load(view.model, key));
  try {
    return (await known.get(key)).default.render(view);
  } catch (error) {
    known.delete(key);
    view.el.textContent = `This cannot be drawn here (${error}). Its values can be read and set from Python: form.value, form.draft.`;
  }
}

export default { render };
