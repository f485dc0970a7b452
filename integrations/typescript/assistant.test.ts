// The example against a running Mneme (MNEME_URL, MNEME_API_KEY), with a model that is played here.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { getMemories } from "@mem0/vercel-ai-provider";
import { answer } from "./assistant.ts";
import { warningOfLeftOut } from "./leftout.ts";

const warned: string[] = [];
const leaving = { left_out: [{ message: 1, field: "messages[1].content", detail: "is 600000 bytes long, want at most 524288", code: "invalid" }] };
const warning = warningOfLeftOut(async () => Response.json(leaving), (text) => warned.push(text));
assert.deepEqual(await (await warning("http://mneme.example/v3/memories/add/")).json(), leaving, "the answer is still there");
await warning("http://mneme.example/v3/memories/search/");
assert.deepEqual(warned, ["Mneme left out message 1: messages[1].content: is 600000 bytes long, want at most 524288"]);

const formedWithin = 120_000;
const asked: string[] = [];

const model = createServer((request, response) => {
  let body = "";
  request.on("data", (part) => (body += part));
  request.on("end", () => {
    asked.push(body);
    const message = { role: "assistant", content: "Noted." };
    const content = [{ type: "output_text", text: "Noted.", annotations: [] }];
    response.setHeader("Content-Type", "application/json");
    response.end(
      JSON.stringify(
        request.url?.endsWith("/responses")
          ? {
              id: "r", object: "response", created_at: 1, model: "played", status: "completed",
              output: [{ type: "message", id: "m", role: "assistant", status: "completed", content }],
              usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
            }
          : {
              id: "c", object: "chat.completion", created: 1, model: "played",
              choices: [{ index: 0, message, finish_reason: "stop" }],
              usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
            },
      ),
    );
  });
});
await new Promise<void>((ready) => model.listen(0, "127.0.0.1", ready));

try {
  process.env.OPENAI_BASE_URL = `http://127.0.0.1:${(model.address() as AddressInfo).port}/v1`;
  process.env.OPENAI_API_KEY = "played";
  const user = `ines/${crypto.randomUUID()}`;

  assert.equal(await answer(user, "I moved from Porto to Lisbon last week."), "Noted.");
  assert.ok(!asked[0]?.includes("Memory:"), "nothing is remembered yet");

  const mneme = { host: process.env.MNEME_URL, mem0ApiKey: process.env.MNEME_API_KEY, user_id: user };
  const deadline = Date.now() + formedWithin;
  while (!(await getMemories("Where do I live now?", mneme)).length) {
    assert.ok(Date.now() < deadline, "nothing is remembered");
    await pause(500);
  }
  await answer(user, "Where do I live now?");
  assert.match(asked.at(-1) ?? "", /Memory: [^"]*Lisbon/);
  console.log("the model was told what the user had said");
} finally {
  model.close();
}
