/** Puts code into a new cell below the form, where the page lets a widget do that: JupyterLab and Notebook 7. */

/** The cells of the notebook around a widget; null if there are none or they are not accessible. */
function insertPlace(model: any) {
  const shared = model.widget_manager?.context?.model?.sharedModel;
  return typeof shared?.insertCell === "function" ? shared : null;
}

export function canInsertCell(model: any): boolean {
  return insertPlace(model) !== null;
}

/** A new cell right below the one that shows the form; it is not run. */
export function insertCell(model: any, el: HTMLElement, code: string) {
  const shared = insertPlace(model);
  const cell = el.closest(".jp-Cell");
  // A long notebook keeps in the page only the cells in sight, so the place in the page is not the one in the notebook.
  const listed = Number.parseInt(cell?.getAttribute("data-windowed-list-index") ?? "", 10);
  const drawn = [...(cell?.closest(".jp-Notebook")?.querySelectorAll(".jp-Cell") ?? [])].indexOf(cell as Element);
  const place = Number.isNaN(listed) ? drawn : listed;
  shared.insertCell(place < 0 ? shared.cells.length : place + 1, { cell_type: "code", source: code, metadata: {} });
}
