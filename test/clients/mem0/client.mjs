// The unmodified npm client `mem0ai` against Mneme, method by method. `npm ci` in this folder comes first.
//
// MNEME_URL is the gateway's base URL, MNEME_API_KEY an API key of a tenant that may do everything. It prints a line per step and exits with 1
// where one fails.
import { randomUUID } from "node:crypto";

process.env.MEM0_TELEMETRY = "false";
const { MemoryClient } = await import("mem0ai");

const host = process.env.MNEME_URL.replace(/\/$/, ""), apiKey = process.env.MNEME_API_KEY;
const userId = `mem0js/${randomUUID()}@example.com`; // an id that has to be escaped in paths
const within = 60_000; // milliseconds, for memories to be formed
const filters = { user_id: userId };

function step(what, good, seen = "") {
  console.log(`${good ? "ok  " : "FAIL"} ${what}`);
  if (!good) {
    console.log(`     saw: ${JSON.stringify(seen)?.slice(0, 800)}`);
    process.exit(1);
  }
}

async function refused(what, status, call) {
  let seen;
  try {
    seen = await call();
  } catch (e) {
    const shown = `${e.name} ${e.errorCode ?? ""} ${e.status ?? e.statusCode ?? ""} ${e.message}`;
    return step(`${what} is refused with ${status}`, shown.includes(String(status)), shown);
  }
  step(`${what} is refused with ${status}`, false, seen);
}

async function until(what, look) {
  const end = Date.now() + within;
  for (;;) {
    const seen = await look();
    if (seen || Date.now() > end) {
      step(what, seen, seen);
      return seen;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const m = new MemoryClient({ apiKey, host });
const texts = async (more = {}) => (await m.getAll({ filters, ...more })).results.map((r) => r.memory);

await m.ping();
step("ping", true);
const added = await m.add([{ role: "user", content: "I live in Porto and I am allergic to peanuts." }], {
  userId, runId: "trip", metadata: { source: "test" }, timestamp: 1_700_000_000,
});
step("add answers with an event", added.status === "PENDING" && added.eventId, added);
const found = await until("search finds what was added", async () => {
  const { results } = await m.search("Where do I live?", { filters, topK: 5 });
  return results.length > 0 && results;
});
const id = found.find((r) => r.memory.includes("Porto")).id;
step("metadata comes back", found[0].metadata.source === "test", found[0]);
step("getAll pages", (await m.getAll({ filters, page: 1, pageSize: 50 })).count >= 2);
step("get", (await m.get(id)).id === id);
await m.add([{ role: "user", content: "The code of the bike lock is 4711." }], { userId, infer: false });
await until("infer: false stores verbatim", async () => (await texts()).includes("The code of the bike lock is 4711."));

await m.update(id, { text: "I live in Lisbon." });
await until("update", async () => (await m.get(id)).memory === "I live in Lisbon.");
const history = await m.history(id);
step("history is a bare list of versions", Array.isArray(history) && history.at(-1).event === "UPDATE", history);
step("feedback", await m.feedback({ memoryId: id, feedback: "POSITIVE", feedbackReason: "it helped" }));
const other = (await m.getAll({ filters })).results.find((r) => r.id !== id).id;
await m.batchUpdate([{ memoryId: other, text: "I am allergic to walnuts." }]);
await until("batchUpdate", async () => (await texts()).includes("I am allergic to walnuts."));
await m.batchDelete([other]);
await until("batchDelete", async () => !(await texts()).includes("I am allergic to walnuts."));

step("users", (await m.users()).results.some((u) => u.name === userId && u.type === "user"));
const exported = await m.createMemoryExport({ schema: { type: "object" }, filters });
step("createMemoryExport", exported.id, exported);
step("getMemoryExport", JSON.stringify(await m.getMemoryExport({ memoryExportId: exported.id })).includes("Lisbon"));
const profile = await m.getProfile({ entityId: userId });
step("getProfile", profile.status === "succeeded" && JSON.stringify(profile.profile).includes("Lisbon"), profile);
step("getProject", typeof (await m.getProject({ fields: ["custom_instructions"] })) === "object");

const hook = await m.createWebhook({ url: "https://example.com/hook", name: "mine", eventTypes: ["memory_add"] });
step("createWebhook", hook.webhookId && hook.eventTypes[0] === "memory_add", hook);
step("getWebhooks", (await m.getWebhooks()).some((w) => w.webhookId === hook.webhookId));
await m.updateWebhook({ webhookId: hook.webhookId, name: "yours", url: hook.url, eventTypes: ["memory_update"] });
step("updateWebhook", (await m.getWebhooks()).some((w) => w.name === "yours"));
await m.deleteWebhook({ webhookId: hook.webhookId });
step("deleteWebhook", !(await m.getWebhooks()).some((w) => w.webhookId === hook.webhookId));

await refused("updateProject", 501, () => m.updateProject({ customInstructions: "x" }));
await refused("generateProfile", 501, () => m.generateProfile({ entityId: userId }));
await refused("getProfileSettings", 501, () => m.getProfileSettings());
await refused("updateProfileSettings", 501, () => m.updateProfileSettings({ enabled: true }));
await refused("sampleProfiles", 501, () => m.sampleProfiles());
await refused("getProfileJob", 501, () => m.getProfileJob("job"));
await refused("a memory that is not there", 404, () => m.get(randomUUID()));
await refused("a bare deleteAll", 400, () => m.deleteAll());
await refused("deleteAll by filters, which the client cannot send", 400, () => m.deleteAll({ filters }));
await refused("a search of nobody's", 400, () => m.search("x", { filters: {} }));
await refused("an unknown key", 401, () => new MemoryClient({ apiKey: "mneme_wrong", host }).getAll({ filters }));
step("nothing of that widened", (await texts()).includes("I live in Lisbon."));

await m.delete(id, { deleteLinked: true });
await until("delete", async () => !(await texts()).includes("I live in Lisbon."));
step("deleteAll", (await m.deleteAll({ userId })).message);
await until("nothing is left", async () => (await texts()).length === 0);
step("deleteUsers", (await m.deleteUsers({ userId })).message);
