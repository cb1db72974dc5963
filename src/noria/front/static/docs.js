// Shows the OpenAPI document of this front. Everything is set as text, so that nothing in it can become markup.
"use strict";

const make = (tag, text, className) => {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
};

const table = (rows) => {
  const found = make("table");
  for (const cells of rows) {
    const row = found.appendChild(make("tr"));
    for (const [tag, text] of cells) row.appendChild(make("td")).appendChild(make(tag, text));
  }
  return found;
};

const json = (value) => make("pre", JSON.stringify(value, null, 2));

const operation = (path, method, entry) => {
  const found = make("details");
  const head = found.appendChild(make("summary"));
  head.append(make("span", method.toUpperCase(), "method"), make("code", path), " ");
  head.append(make("span", entry.summary || "", "dim"));
  if (entry.description) found.append(make("p", entry.description));
  const needs = entry["x-noria-scope"];
  found.append(make("p", needs ? `Needs a key with the scope ${needs}.` : "Needs no key.", "dim"));
  if (entry.parameters?.length) {
    found.append(table(entry.parameters.map((each) => [
      ["code", each.name], ["span", each.in], ["span", each.description || ""],
    ])));
  }
  const body = entry.requestBody?.content?.["application/json"]?.schema;
  if (body) found.append(make("p", "Body:"), json(body));
  const sent = entry.requestBody?.content?.["application/json"]?.example;
  if (sent !== undefined) found.append(make("p", "For example:"), json(sent));
  found.append(table(Object.entries(entry.responses).map(([status, each]) => [
    ["code", status], ["span", each.description],
  ])));
  return found;
};

const render = (document_) => {
  document.getElementById("about").textContent =
    `${document_.info.title} ${document_.info.version}. ${document_.info.description}`;
  const groups = new Map();
  for (const [path, methods] of Object.entries(document_.paths)) {
    for (const [method, entry] of Object.entries(methods)) {
      const name = entry.tags?.[0] ?? "other";
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(operation(path, method, entry));
    }
  }
  const main = document.getElementById("operations");
  main.replaceChildren();
  for (const [name, entries] of groups) main.append(make("h2", name), ...entries);
  const schemas = document_.components?.schemas ?? {};
  main.append(make("h2", "schemas"));
  for (const [name, schema] of Object.entries(schemas)) {
    const entry = make("details");
    entry.append(make("summary", name), json(schema));
    main.append(entry);
  }
  const problems = document.getElementById("problems");
  problems.replaceChildren(make("h2", "problems"));
  for (const [code, [status, title]] of Object.entries(document_["x-noria-problems"] ?? {})) {
    const line = make("p");
    line.id = `problem-${code}`;
    line.append(make("code", `${status} ${code}`), ` ${title}.`);
    problems.append(line);
  }
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
};

const load = async (key) => {
  const headers = key ? { authorization: `Bearer ${key}` } : {};
  const answer = await fetch("openapi.json", { headers });
  if (answer.status === 401 || answer.status === 403) {
    document.getElementById("ask").hidden = false;
    document.getElementById("about").textContent = (await answer.json()).detail;
    return;
  }
  render(await answer.json());
};

document.getElementById("key").addEventListener("change", (event) => load(event.target.value.trim()));
load("");
