// An assistant that remembers: mem0's provider puts what the user says into Mneme, and what Mneme recalls in front of the model.
import { pathToFileURL } from "node:url";
import { createMem0 } from "@mem0/vercel-ai-provider";
import { generateText } from "ai";
import { warningOfLeftOut } from "./leftout.ts";

globalThis.fetch = warningOfLeftOut(globalThis.fetch);

/** Answers a message of a user, with what Mneme remembers of the user. */
export async function answer(user: string, message: string): Promise<string> {
  const mneme = createMem0({
    provider: "openai",
    apiKey: process.env.OPENAI_API_KEY, // of the model
    mem0ApiKey: process.env.MNEME_API_KEY,
    mem0Config: { host: process.env.MNEME_URL, user_id: user },
  });
  const { text } = await generateText({ model: mneme(process.env.MODEL ?? "gpt-5-mini"), prompt: message });
  return text;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [user, message] = process.argv.slice(2);
  if (!user || !message) throw new Error("usage: npm start -- USER MESSAGE");
  console.log(await answer(user, message));
}
