// What changed between two JSON values, field by field. Puts nothing into words.

export interface Change {
  field: string;
  // Left out: there was none before, or there is none any more.
  before?: string;
  after?: string;
}

type Fields = Record<string, unknown>;
const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value);

// They change with every write and say nothing.
const UNSAID = new Set(["version", "created_at"]);

function shown(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(shown).join(", ");
  return JSON.stringify(value);
}

export function difference(before: unknown, after: unknown, path = ""): Change[] {
  if (isFields(before) || isFields(after)) {
    const [old, now] = [isFields(before) ? before : {}, isFields(after) ? after : {}];
    const names = [...new Set([...Object.keys(now), ...Object.keys(old)])].filter((name) => !UNSAID.has(name));
    return names.flatMap((name) => difference(old[name], now[name], path ? `${path}.${name}` : name));
  }
  const [old, now] = [before ?? undefined, after ?? undefined];
  if (JSON.stringify(old) === JSON.stringify(now)) return [];
  const change: Change = { field: path };
  if (old !== undefined) change.before = shown(old);
  if (now !== undefined) change.after = shown(now);
  return [change];
}
