/** Fetches what draws a form from the kernel, once for a page, and lets it draw. */

function fetchScript(model: any, key: string): Promise<DataView<ArrayBuffer>> {
  return new Promise((resolve, reject) => {
    const onMessage = (content: any, buffers: any[]) => {
      if (content?.script !== key) return;
      model.off("msg:custom", onMessage);
      resolve(buffers[0]);
    };
    model.on("msg:custom", onMessage);
    Promise.resolve(model.send({ do: "script" })).catch(reject);
  });
}

async function load(model: any, key: string): Promise<any> {
  const stream = new Blob([await fetchScript(model, key)]).stream().pipeThrough(new DecompressionStream("gzip"));
  const address = URL.createObjectURL(new Blob([await new Response(stream).text()], { type: "text/javascript" }));
  try {
    return await import(address);
  } finally {
    URL.revokeObjectURL(address);
  }
}

async function render(view: { model: any; el: HTMLElement }) {
  // marimo names its theme on the body, and puts widgets where no rule of the page reaches.
  for (const name of ["light-theme", "dark-theme"])
    view.el.classList.toggle(name, document.body.classList.contains(name));
  const known = ((globalThis as any).__reelbookForms ??= new Map());
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
