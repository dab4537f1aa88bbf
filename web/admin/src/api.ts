// Calls to the operators' API with the key of the session. Shows nothing; a refusal is thrown with all that it told.
import { session, signOut } from "./session";

const CALL_MAX_MS = 10_000;

export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    // The field that was wrong and what is wrong with it, where the server named one.
    readonly field: string | undefined,
    readonly problem: string | undefined,
    readonly retryMs: number | undefined,
  ) {
    super(problem ?? code);
  }
}

// Nobody answered at all.
export class Lost extends Error {}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

async function refusal(response: Response): Promise<Refused> {
  let told: Record<string, unknown> = {};
  try {
    told = (await response.json()) as Record<string, unknown>;
  } catch {
    // A proxy's own page: the status says all.
  }
  const after = typeof told.poll_after_ms === "number" ? told.poll_after_ms : undefined;
  const problem = text(told.problem) ?? text(told.detail) ?? text(told.title);
  return new Refused(response.status, text(told.code) ?? "", text(told.field), problem, after);
}

export async function send(method: string, path: string, init: RequestInit = {}, key = session.value.key): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set("authorization", `Bearer ${key ?? ""}`);
  let response: Response;
  try {
    response = await fetch(`/v1/admin/${path}`, { ...init, method, headers, cache: "no-store", credentials: "omit" });
  } catch (error) {
    throw new Lost(String(error));
  }
  if (response.ok) return response;
  const refused = await refusal(response);
  // A key that was good and is no more: nothing on the page can go on.
  if (refused.status === 401 && key !== undefined && key === session.value.key) signOut("ended");
  throw refused;
}

export async function call<T>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<T> {
  const init: RequestInit = { headers, signal: AbortSignal.timeout(CALL_MAX_MS) };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { ...headers, "content-type": "application/json" };
  }
  const response = await send(method, path, init);
  try {
    const answer = await response.text();
    return (answer === "" ? {} : JSON.parse(answer)) as T;
  } catch (error) {
    throw new Lost(String(error));
  }
}

export const roomPath = (room: string, rest = ""): string => `rooms/${encodeURIComponent(room)}${rest}`;

export const tenantPath = (tenant: string, rest = ""): string => `tenants/${encodeURIComponent(tenant)}${rest}`;
