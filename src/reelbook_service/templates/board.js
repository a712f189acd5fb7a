// What the board does better with scripts: it changes by itself, answers without a new page, and loads pictures when they are seen.
const EVERY = 2000, form = document.getElementById("class"), notice = document.getElementById("notice"), live = document.getElementById("live");

const whenSeen = new IntersectionObserver(entries => {
  for (const {isIntersecting, target} of entries) if (isIntersecting) { target.preload = "metadata"; whenSeen.unobserve(target); }
}, {rootMargin: "200px"});
const watch = root => root.querySelectorAll("video[preload=none]").forEach(video => whenSeen.observe(video));

const say = (mark, words) => { live.className = mark; live.textContent = words; };
const rowsOf = root => [...root.querySelectorAll("tr[id]")];
let shown = new Map(rowsOf(document).map(row => [row.id, row.outerHTML]));  // As the service wrote them.
let names = rowsOf(document).map(row => row.querySelector("input").value).join("\n");

const replaceRow = (old, row) => {
  const focus = old.contains(document.activeElement) && ["button", "input", "a"].find(kind => document.activeElement.matches(kind));
  row.querySelector("input").checked = old.querySelector("input").checked;
  old.querySelectorAll("video").forEach(video => whenSeen.unobserve(video));
  old.replaceWith(row);
  watch(row);
  if (focus) row.querySelector(focus)?.focus();
};

let tag = "";
// Shows what a page of the board has, of which the service has escaped every text.
const show = async response => {
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  if (!page.getElementById("class")) {
    say("warn", "Not live: open the link of the board again");
    return page.querySelector("[role=alert]");
  }
  const rows = rowsOf(page);
  if (rows.map(row => row.querySelector("input").value).join("\n") !== names) location.reload();  // There are other students.
  for (const id of ["summary", "problems", "queue", "errors"]) {
    const part = document.getElementById(id), html = page.getElementById(id).innerHTML;
    if (part.innerHTML !== html) part.innerHTML = html;
  }
  for (const row of rows) {
    const html = row.outerHTML;
    if (shown.get(row.id) === html) continue;
    shown.set(row.id, html);
    const old = document.getElementById(row.id);
    if (old) replaceRow(old, document.adoptNode(row));
  }
  tag = response.headers.get("etag");
  say("good", "● Live");
  return page.getElementById("notice");
};
const refresh = async () => {
  const response = await fetch("class", {headers: {"if-none-match": tag}});
  if (response.status === 304) return say("good", "● Live");
  if (!response.ok) throw new Error(response.statusText);
  await show(response);
};
const keepUp = async () => {
  if (!document.hidden) await refresh().catch(() => say("warn", "◔ The connection was lost; trying again"));
  setTimeout(keepUp, EVERY);
};

const count = () => {
  const marked = form.querySelectorAll("input[name=name]:checked").length, option = form.querySelector("option[value=marked]");
  if (option) option.textContent = marked ? `the ${marked} ticked` : "those ticked below";
};
form.addEventListener("change", count);
let isBusy = false;
form.addEventListener("submit", async event => {
  const button = event.submitter;
  if (!button || button.value === "replace") return;  // Keys are on a page of their own.
  event.preventDefault();
  if (isBusy) return;  // A double click is one action.
  isBusy = true;
  const body = new URLSearchParams(new FormData(form, button));
  body.set("once", crypto.getRandomValues(new Uint32Array(4)).join("-"));
  try {
    const said = await show(await fetch(form.action, {method: "POST", body}));
    notice.className = said.className;
    notice.textContent = said.textContent;
    if (notice.className !== "bad" && button.value === "topup") {  // So that a second click does not add them again.
      form.querySelectorAll("input[name=name]:checked").forEach(mark => { mark.checked = false; });
      form.elements.credits.value = "";
      count();
    }
  } catch {
    notice.className = "bad";
    notice.textContent = "The answer was lost. It may have been done: look at the class before you try again.";
  }
  isBusy = false;
});

watch(document);
count();
keepUp();
