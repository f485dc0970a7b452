// mem0's provider drops the answer of `add`: this shows which messages Mneme left out, and why.

type LeftOut = { message: number; field: string; detail: string };

/** A fetch that warns of the messages which Mneme left out of an addition. */
export function warningOfLeftOut(next: typeof fetch, warn: (text: string) => void = console.warn): typeof fetch {
  return async (input, init) => {
    const response = await next(input, init);
    const { pathname } = new URL(input instanceof Request ? input.url : input);
    if (response.ok && pathname.endsWith("/v3/memories/add/")) {
      const { left_out = [] } = (await response.clone().json()) as { left_out?: LeftOut[] };
      for (const { message, field, detail } of left_out) warn(`Mneme left out message ${message}: ${field}: ${detail}`);
    }
    return response;
  };
}
