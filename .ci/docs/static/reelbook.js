// Code and outputs that scroll can be reached and scrolled with the keyboard.
addEventListener("DOMContentLoaded", () => {
  for (const box of document.querySelectorAll("pre, .cell_output > .output, .table-wrapper"))
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
});
