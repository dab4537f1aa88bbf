// The page's texts, numbers and spans of time in its language. The server puts TEXTS (messages.*.json) before the script.

export function say(key, values = {}) {
  return (TEXTS[key] ?? "").replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
}

export const language = () => document.documentElement.lang;

export const count = (n) => new Intl.NumberFormat(language()).format(n);

// A wait of some minutes in words; beyond an hour to ten minutes, since nobody can promise more.
function minutesText(minutes) {
  if (minutes < 60) return say("minutes", { m: minutes });
  const rounded = Math.round(minutes / 10) * 10;
  const [h, m] = [Math.floor(rounded / 60), rounded % 60];
  return say(m ? "hours_minutes" : "hours", { h, m });
}

// A range such as "about 3 to 5 minutes".
export function estimateText(estimate, reason) {
  if (!estimate) return say(`no_estimate.${reason ?? "unknown"}`);
  const low = Math.floor(estimate.low_ms / 60000);
  const high = Math.ceil(estimate.high_ms / 60000);
  if (high <= 1) return say("under_minute");
  if (low < 1) return say("up_to", { high: minutesText(high) });
  const [from, to] = [minutesText(low), minutesText(high)];
  if (from === to) return say("about", { high: to });
  // "3-5 min" and "2-3 h", not "3 min-5 min".
  const hours = Math.round(low / 10) / 6;
  const whole = low >= 60 && Number.isInteger(hours) && Math.round(high / 10) % 6 === 0;
  const short = high < 60 ? String(low) : whole ? String(hours) : from;
  return say("range", { low: short, high: to });
}

// A countdown to the second.
export function spanText(ms) {
  const s = Math.max(0, Math.ceil(ms / 1000));
  if (s < 60) return say("seconds", { s });
  if (s < 3600 && s % 60 === 0) return say("minutes", { m: s / 60 });
  if (s < 3600) return say("minutes_seconds", { m: Math.floor(s / 60), s: s % 60 });
  const h = Math.floor(s / 3600);
  if (h < 24) return say("hours_minutes", { h, m: Math.floor((s % 3600) / 60) });
  return say("days_hours", { d: Math.floor(h / 24), h: h % 24 });
}

export function timeText(time) {
  const format = { dateStyle: "medium", timeStyle: "short" };
  return new Intl.DateTimeFormat(language(), format).format(new Date(time));
}
