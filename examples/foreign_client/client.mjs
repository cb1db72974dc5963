// Enqueues a job from Node.js, which needs nothing but its own fetch: once however often it is asked, followed by its
// events, and called for its value. Usage: node client.mjs http://127.0.0.1:8080 [KEY]
const [base, key] = process.argv.slice(2);
const headers = { "content-type": "application/json", ...(key && { authorization: `Bearer ${key}` }) };

async function ask(method, path, body, more = {}) {
  const answer = await fetch(base + path, {
    method,
    headers: { ...headers, ...more },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await answer.text();
  const found = text ? JSON.parse(text) : null;
  if (answer.ok) return { answer, found };
  const where = (found.errors ?? []).map((each) => `${each.pointer} ${each.message}`).join("; ");
  throw Object.assign(new Error(`${found.code}: ${found.detail}`), { problem: found, where });
}

// The same request twice is one job: the key says so, and a lost answer can simply be asked for again.
const job = { task: "cube", args: { a: 3 }, delay: 0.5, tags: ["node"] };
const once = { "idempotency-key": `order-${process.pid}` };
const first = (await ask("POST", "/v1/jobs", job, once)).found;
const again = (await ask("POST", "/v1/jobs", job, once)).found;
console.log("one job for two requests:", first.id === again.id);

// Server-sent events: the whole job first, then each change, until it has ended.
const stream = await fetch(base + first.links.events, { headers: { ...headers, accept: "text/event-stream" } });
let text = "";
const states = [];
for await (const piece of stream.body.pipeThrough(new TextDecoderStream())) {
  text += piece;
  const blocks = text.split("\n\n");
  text = blocks.pop();
  for (const block of blocks) {
    const data = block.split("\n").find((line) => line.startsWith("data: "));
    if (data) states.push(JSON.parse(data.slice(6)));
  }
}
console.log("seen:", states[0].state, "...", states.at(-1).state, states.at(-1).result);

// A call gives the bare result; what does not fit is refused with a pointer to it.
console.log("called:", (await ask("POST", "/v1/call/cube", { a: 4 })).found);
try {
  await ask("POST", "/v1/call/cube", { a: "four" });
} catch (error) {
  console.log("refused:", error.problem.status, error.problem.code, error.problem.errors[0].pointer);
}

// Lists are walked page by page; nothing is met twice, whatever is added meanwhile.
let count = 0;
for (let next = ""; next !== null; ) {
  const page = (await ask("GET", `/v1/jobs?tag=node&limit=1${next && `&cursor=${next}`}`)).found;
  count += page.items.length;
  next = page.next;
}
console.log("listed:", count);
