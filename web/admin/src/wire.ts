// The bodies of the operators' API as the page uses them. The server's own are in `server/api`; docs/reference/wire.md.

export type LineState = "open" | "paused" | "not_open" | "closed" | "sold_out" | "off";
export type PacerKind = "fixed" | "aimd" | "manual" | "signal";
export type Mode = "on" | "off" | "auto" | "shadow";
export type ChallengeKind = "off" | "proof_of_work";
export type QueueReason = "live" | "arrivals" | "line";
export type LoadLevel = "ok" | "busy" | "overloaded";

export interface Title {
  ko: string;
  en: string;
}

export interface Did {
  joined: number;
  admitted: number;
  claimed: number;
  no_shows: number;
  left: number;
  refused: number;
  dwells: number;
  dwell_ms: number;
}

export interface RoomLive {
  room: string;
  title: Title;
  identity: "anonymous" | "entry";
  group?: string;
  state: LineState;
  now: string;
  waiting: number;
  absent: number;
  live: number;
  claimed: number;
  serving: number;
  rate_per_s: number;
  mode: Mode;
  queueing?: { since: string; why: QueueReason };
  site_load?: LoadLevel;
  lull: boolean;
  joined_total: number;
  admitted_total: number;
  claimed_total: number;
  no_shows_total: number;
  left_total: number;
  returned_total: number;
  dwell_mean_ms?: number;
  version: number;
  capacity: number;
  max_waiting: number;
  admit_total?: number;
  pacer: PacerKind;
  paused: boolean;
  sold_out: boolean;
  following: boolean;
  notice?: { text: string; at: string };
  opens_at?: string;
  reopens_at?: string;
  message?: string;
  mass_absence_at?: string;
  unlisted?: { people: number; at: string };
  refused: Record<string, number>;
  dwell?: { count: number; sum_ms: number; half_ms: number; most_ms: number };
  did: Did;
}

export interface GroupLive {
  group: string;
  capacity: number;
  rate_per_s: number;
  burst: number;
  rooms: string[];
  live: number;
  waiting: number;
}

export interface LiveFrame {
  at: string;
  counting_since: string;
  second: number;
  store_down_ms?: number;
  streams: number;
  operators: number;
  changes: number;
  rooms: RoomLive[];
  groups: GroupLive[];
}

export interface RoomHistory {
  room: string;
  second: number[];
  waiting: number[];
  live: number[];
  rate_milli: number[];
  joined: number[];
  admitted: number[];
  claimed: number[];
  no_shows: number[];
  left: number[];
  refused: number[];
  dwells: number[];
  dwell_ms: number[];
}

export interface HistoryList {
  counting_since: string;
  at: string;
  step_s: number;
  rooms: RoomHistory[];
}

export interface Aimd {
  start: number;
  increase: number;
  floor: number;
  ceiling: number;
  threshold: number;
}

export interface Signal {
  start: number;
  increase: number;
  floor: number;
  ceiling: number;
  settle_ms: number;
  slow_ms: number;
  errors_percent: number;
}

export type Pacer = { kind: "fixed" } | { kind: "manual" } | ({ kind: "aimd" } & Aimd) | ({ kind: "signal" } & Signal);

export interface Settings {
  capacity: number;
  rate_per_s: number;
  burst: number;
  per_tick: number;
  pacer: Pacer;
  mode: Mode;
  queue_at_live?: number;
  queue_at_arrivals_per_s?: number;
  quiet_for_ms: number;
}

export interface RoomDefinition {
  room: string;
  version: number;
  target_url: string;
  challenge: ChallengeKind;
  challenge_difficulty: number;
  settings: Settings;
}

export interface GroupDefinition {
  group: string;
  capacity: number;
  rate_per_s: number;
  burst: number;
  version: number;
}

export interface AuditEntry {
  no: number;
  at: string;
  actor: string;
  action: string;
  target: string;
  before?: unknown;
  after?: unknown;
  // SHA-256 in hex: of the entry before, and of this one with it.
  prev_hash: string;
  hash: string;
}

export interface AuditPage {
  entries: AuditEntry[];
  next_before_no?: number;
}

export type Scope = "admin" | "tenant";

export interface ApiKey {
  id: string;
  tenant: string;
  scope: Scope;
  name: string;
  created_at: string;
  last_used_at?: string;
  revoked_at?: string;
  expires_at?: string;
}

export interface ApiKeys {
  keys: ApiKey[];
}

// The only answer that holds the key itself.
export interface ApiKeyCreated {
  id: string;
  key: string;
}

export interface SiteKey {
  id: string;
  created_at: string;
  signs_from: string;
  ends_at?: string;
  signs: boolean;
}

export interface SiteKeys {
  keys: SiteKey[];
}

export interface Tenant {
  tenant: string;
  name: string;
  rooms_max: number;
  joins_per_minute: number;
  entries_per_minute: number;
  return_urls: string[];
  cors_origins: string[];
  version: number;
  rooms: string[];
}

export interface Tenants {
  tenants: Tenant[];
}
