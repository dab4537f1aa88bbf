// A plain site to stand before: pages, one button, and a note of everything that reached it. Checks no pass, and knows of
// Jari only how its visitors give a pass back.
import { createServer } from "node:http";

// As a browser names itself: who of the test's people asked.
const WHO = /\bwho=([a-z]+)/;
// Longer than any path of a test; what is encoded more often than that is nobody's spelling.
const DECODINGS = 4;

// Whether some server could take this for a guarded path, in whatever spelling.
export function isGuarded(target) {
  let text = target;
  for (let round = 0; round < DECODINGS; round += 1) {
    if (/[/\\]tickets/i.test(text.normalize("NFKC"))) return true;
    try {
      text = decodeURIComponent(text);
    } catch {
      return false;
    }
  }
  return false;
}

function page(target, room) {
  const shown = target.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  return `<!doctype html>
<html lang="ko">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,">
<title>가을 음악회 예매 · Autumn concert tickets</title>
<style>
  body { margin: 0; font: 1.1rem/1.6 "Noto Sans CJK KR", sans-serif; background: #f4f1ea; color: #2b2620; }
  main { max-width: 34rem; margin: 3rem auto; padding: 2rem; background: #fff; border-radius: 1rem; }
  code { background: #f4f1ea; padding: 0.2em 0.5em; border-radius: 0.3em; }
  button { font: inherit; padding: 0.5em 1.2em; border: 0; border-radius: 2em; background: #7a3b2e; color: #fff; }
</style>
<main>
  <h1>가을 음악회 예매</h1>
  <p>Autumn concert tickets</p>
  <p><code id="here">${shown}</code></p>
  <p><button id="done">다 했어요 · I am done</button></p>
</main>
<script>
  document.getElementById("done").addEventListener("click", async () => {
    const { status } = await fetch("/.jari/v1/rooms/${room}/places/me", { method: "DELETE" });
    document.body.dataset.done = status;
  });
</script>
</html>`;
}

// Starts one on a free port. Its button gives the visitor's pass of `room` back.
export async function staticSite(room) {
  const seen = [];
  const server = createServer((request, response) => {
    const who = WHO.exec(request.headers["user-agent"] ?? "")?.[1];
    seen.push({ who, method: request.method, target: request.url, headers: request.headers });
    response.setHeader("content-type", "text/html; charset=utf-8");
    response.end(page(request.url, room));
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    port: server.address().port,
    seen,
    // What reached it of guarded pages from this person.
    guardedBy: (who) => seen.filter((at) => at.who === who && isGuarded(at.target)).map((at) => `${at.method} ${at.target}`),
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
