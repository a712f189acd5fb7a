// What the board does better with scripts: it changes by itself, answers without a new page, and loads pictures when they are seen.
const page = document.body.dataset, form = document.getElementById("class");
const notice = document.getElementById("notice"), live = document.getElementById("live");

const whenSeen = new IntersectionObserver(entries => {
  for (const {isIntersecting, target} of entries) if (isIntersecting) { target.preload = "metadata"; whenSeen.unobserve(target); }
}, {rootMargin: "200px"});
const watch = root => root.querySelectorAll("video[preload=none]").forEach(video => whenSeen.observe(video));

const replace = (cell, html) => {
  const hadFocus = cell.contains(document.activeElement);
  whenSeen.takeRecords();
  cell.querySelectorAll("video").forEach(video => whenSeen.unobserve(video));
  cell.innerHTML = html;  // The service has escaped every text in it.
  watch(cell);
  if (hadFocus) cell.querySelector("button, a")?.focus();
};

const say = (mark, words) => { live.className = mark; live.textContent = words; };
const stream = new EventSource(`class/stream?since=${encodeURIComponent(page.version)}`);
stream.onopen = () => say("good", "● Live");
stream.onerror = () => stream.readyState === EventSource.CLOSED
  ? say("warn", "Not live: reload this page to log in again")
  : say("warn", "◔ The connection was lost; trying again");
stream.addEventListener("cells", event => {
  for (const [name, html] of Object.entries(JSON.parse(event.data))) {
    const cell = document.getElementById(name);
    if (cell) replace(cell, html);
  }
});
stream.addEventListener("page", () => location.reload());  // There are other students.
stream.addEventListener("end", () => { stream.close(); stream.onerror(); });

const count = () => {
  const marked = form.querySelectorAll("input[name=name]:checked").length;
  form.querySelector("option[value=marked]").textContent = marked ? `the ${marked} marked` : "those marked below";
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
    const response = await fetch(form.action, {method: "POST", body, headers: {accept: "application/json"}});
    const {detail, done} = await response.json();
    notice.className = done ? "" : "bad";
    notice.textContent = done ?? detail;
    if (done && button.value === "topup") {  // So that a second click does not add them again.
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
