// The page's own script: keys, and parts that follow the memory. Without it every page still works.
"use strict";
(() => {
  // What j and k go through: the first link of each of these.
  const ITEMS = "[data-item], .hit, .prompt, .rows > li, tbody > tr";
  const TYPING = "input:not([type=checkbox]), textarea, select, [contenteditable]";
  const KEYS = [
    ["/", "search"],
    ["j", "next in the list"],
    ["k", "previous in the list"],
    ["Enter", "open"],
    ["e", "edit"],
    ["w", "why this result, on Search"],
    ["a", "accept, on Review"],
    ["d", "delete, on Review"],
    ["c", "decline a guard, on Review"],
    ["1–6", "verdict on a pair, on Review"],
    ["u", "undo"],
    ["Esc", "leave the search field"],
    ["?", "these keys"],
  ];
  const PLACE = "engram.place";
  const FIELD = "engram.field";
  // Fields of an address that say where in a list the reader was, and what was done: of another choice they are false.
  const GONE = ["before", "page", "done", "undo", "id", "judged"];

  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const visible = (element) => !element.checkVisibility || element.checkVisibility();

  function make(tag, text = "", values = {}) {
    const made = Object.assign(document.createElement(tag), values);
    made.textContent = text;
    return made;
  }

  // --- lists -----------------------------------------------------------------------------------------

  function stops() {
    const links = all(`main :is(${ITEMS})`).map((item) => item.querySelector("a[href]"));
    return [...new Set(links)].filter((link) => link && visible(link));
  }

  function current() {
    return document.activeElement ? document.activeElement.closest(`main :is(${ITEMS})`) : null;
  }

  function go(link) {
    if (!link) return;
    link.focus();
    link.scrollIntoView({ block: "nearest" });
  }

  function move(step) {
    const links = stops();
    const item = current();
    const here = item ? links.findIndex((link) => item.contains(link)) : -1;
    go(links[here < 0 ? 0 : Math.min(Math.max(here + step, 0), links.length - 1)]);
  }

  // --- keys ------------------------------------------------------------------------------------------

  // The button or link of a key: of the item that has the focus, else of the page itself. Nothing is done to an item
  // that the reader did not choose: the first press chooses one.
  function press(key) {
    const named = `[data-key="${CSS.escape(key)}"]`;
    const item = current();
    const found = item && all(named, item).find(visible);
    const link = item && item.querySelector('a[href^="/ui/memory/"]');
    if (found) found.click();
    else if (key === "e" && link) location.assign(`/ui/memory/${parseInt(link.pathname.split("/")[3], 10)}/edit`);
    else {
      const others = all(named).filter(visible);
      const itemOf = (one) => one.closest(`main :is(${ITEMS})`);
      const own = others.find((one) => !itemOf(one));
      if (own) own.click();
      else if (others.length && !item) go(itemOf(others[0]).querySelector("a[href]"));
      else return false;
    }
    return true;
  }

  function search() {
    const field = all("input[type=search], input[name=prompt]").find(visible);
    if (field) {
      field.focus();
      field.select();
    } else document.querySelector("nav a").click();
  }

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    const field = event.target.closest(TYPING);
    if (field) {
      if (event.key === "Escape" && field.matches("input[type=search], input[name=prompt]")) field.blur();
      return;
    }
    if (event.key === "?") help();
    else if (document.querySelector("dialog[open]")) return;
    else if (event.key === "/") search();
    else if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
    else if (event.key.length !== 1 || !press(event.key)) return;
    event.preventDefault();
  });

  // A change made in a list loads the page again: the reader stays at that place of the list.
  document.addEventListener("submit", (event) => {
    const item = event.target.closest(ITEMS);
    const link = item && item.querySelector("a[href]");
    const index = stops().filter((one) => !one.closest(".done")).indexOf(link);
    if (index >= 0) sessionStorage.setItem(PLACE, JSON.stringify([location.pathname, index]));
  });

  function stay() {
    const [path, index] = JSON.parse(sessionStorage.getItem(PLACE) || "[]");
    sessionStorage.removeItem(PLACE);
    const links = stops().filter((one) => !one.closest(".done"));
    if (path === location.pathname) go(links[Math.min(index, links.length - 1)]);
    const field = sessionStorage.getItem(FIELD);
    sessionStorage.removeItem(FIELD);
    if (field) go(all("[data-sends]").find((one) => visible(one) && one.getAttribute("aria-label") === field));
  }

  // --- choices that act at once ----------------------------------------------------------------------

  // The project of the bar keeps what the page shows now, which a search may have changed since it was loaded.
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-sends]")) {
      sessionStorage.setItem(FIELD, event.target.getAttribute("aria-label"));
      event.target.form.requestSubmit();
    }
    const field = event.target.closest("[data-acts]");
    if (!field) return;
    const target = new URL(field.form.action, location.href);
    const fields = target.pathname === location.pathname ? new URLSearchParams(location.search) : new FormData(field.form);
    for (const [name, value] of fields) if (value && !GONE.includes(name)) target.searchParams.set(name, value);
    if (field.value) target.searchParams.set(field.name, field.value);
    else target.searchParams.delete(field.name);
    location.assign(target);
  });

  // --- the list of keys ------------------------------------------------------------------------------

  function help() {
    const dialog = document.getElementById("keys");
    if (dialog.open) dialog.close();
    else dialog.showModal();
  }

  function offer() {
    const dialog = make("dialog", "", { id: "keys" });
    const title = make("h2", "Keys", { id: "keys-title" });
    dialog.setAttribute("aria-labelledby", title.id);
    const list = make("dl");
    for (const [key, meaning] of KEYS) {
      const name = make("dt");
      name.append(make("kbd", key));
      list.append(name, make("dd", meaning));
    }
    const close = make("button", "Close", { type: "button" });
    close.addEventListener("click", help);
    dialog.append(title, list, make("p", "In a text field, keys type as usual.", { className: "about" }), close);
    document.body.append(dialog);
    const button = make("button", "Keys ", { type: "button", className: "keys" });
    button.append(make("kbd", "?"));
    button.setAttribute("aria-haspopup", "dialog");
    button.setAttribute("aria-keyshortcuts", "?");
    button.addEventListener("click", help);
    document.querySelector("nav").append(button);
  }

  function nameKeys() {
    for (const one of all("[data-key]")) one.setAttribute("aria-keyshortcuts", one.dataset.key);
    for (const one of all("input[type=search]")) one.setAttribute("aria-keyshortcuts", "/");
  }

  // --- live parts ------------------------------------------------------------------------------------

  let source = null;

  const part = () => document.querySelector("[data-live]");

  function say(text) {
    for (const one of all("[data-live-state]")) one.textContent = text;
  }

  // A tab in the background listens to nothing: a browser has only a few connections to one server.
  function listen() {
    if (source || document.hidden || !part()) return;
    source = new EventSource(`/ui/events?since=${encodeURIComponent(part().dataset.live)}`);
    source.addEventListener("open", () => say("live"));
    source.addEventListener("changed", () => htmx.trigger(part(), "changed"));
    source.addEventListener("error", () => {
      say("not live: the server does not answer");
      if (source.readyState === EventSource.CLOSED) {
        leave();
        setTimeout(listen, 30000);
      }
    });
  }

  function leave() {
    if (source) source.close();
    source = null;
  }

  document.addEventListener("visibilitychange", () => (document.hidden ? leave() : listen()));
  addEventListener("pagehide", leave);
  addEventListener("pageshow", listen);

  // --- htmx ------------------------------------------------------------------------------------------

  // An address names only the fields that were filled in.
  document.addEventListener("htmx:configRequest", (event) => {
    const fields = event.detail.formData;
    for (const [name, value] of [...fields]) if (!value) fields.delete(name);
  });

  let focused = "";

  document.addEventListener("htmx:beforeSwap", (event) => {
    const link = document.activeElement;
    focused = link && link.href && event.detail.target.contains(link) ? link.getAttribute("href") : "";
  });

  document.addEventListener("htmx:afterSettle", (event) => {
    nameKeys();
    if (source) say("live");
    const part = event.detail.elt;
    const link = focused && all("a[href]", part).find((one) => one.getAttribute("href") === focused);
    if (link) link.focus({ preventScroll: true });
    // The answer to a form is read next, and j goes to its first line.
    else if (event.detail.requestConfig && event.detail.requestConfig.elt.matches("form")) part.focus();
  });

  // A part that cannot be had: the whole page says why.
  for (const failed of ["htmx:responseError", "htmx:sendError", "htmx:targetError"]) {
    document.addEventListener(failed, (event) => {
      const form = event.detail.elt.closest("form");
      if (form) form.submit();
    });
  }

  offer();
  nameKeys();
  stay();
  document.documentElement.dataset.keys = "on";
})();
