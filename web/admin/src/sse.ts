// Reads an event stream off a fetch: EventSource cannot send a key in a header. Knows no event by name.

export interface ServerEvent {
  event: string;
  data: string;
}

// Two missed heartbeats and some: the stream is dead though nobody closed it. With a frame a second, five are enough.
const SILENCE_MAX_MS = 8_000;
// A frame larger than this is none of ours: 600 bytes a room.
const FRAME_MAX_CHARS = 8_000_000;

function parse(block: string): ServerEvent | undefined {
  let event = "message";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") event = value;
    if (field === "data") data.push(value);
  }
  return data.length > 0 ? { event, data: data.join("\n") } : undefined;
}

// What a promise gives, unless that takes too long.
export async function within<T>(promise: Promise<T>, limitMs: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silent = new Promise<never>((_, fail) => {
    timer = setTimeout(() => fail(new Error("the stream fell silent")), limitMs);
  });
  try {
    return await Promise.race([promise, silent]);
  } finally {
    clearTimeout(timer);
  }
}

// The events until the stream ends. Throws where it breaks or falls silent.
export async function* events(response: Response): AsyncGenerator<ServerEvent> {
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let unread = "";
  try {
    for (;;) {
      const { done, value } = await within(reader.read(), SILENCE_MAX_MS);
      if (done) return;
      unread += value;
      const blocks = unread.split("\n\n");
      unread = blocks.pop() ?? "";
      if (unread.length > FRAME_MAX_CHARS) throw new Error("a frame without end");
      for (const block of blocks) {
        const event = parse(block);
        if (event) yield event;
      }
    }
  } finally {
    // Whoever stops reading wants the connection gone.
    reader.cancel().catch(() => undefined);
  }
}
