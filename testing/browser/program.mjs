// A Jari of a test's own, or another program: a process that can be ended and started again. Knows no browser and no room.
import { spawn } from "node:child_process";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { closeLater } from "./browser.mjs";
import { needed } from "./jari.mjs";

// `cargo xtask test` names the program that it built; it lies where an ordinary user can start it.
const PROGRAM = needed("JARI_PROGRAM");
// A debug build opens its stores in well under a second; a loaded machine may take many.
const READY_MS = 60000;
const NOBODY = 65534;

// The first words in what the process prints that begin with each of `marks`.
export function printed(child, marks) {
  return new Promise((done, fail) => {
    const late = setTimeout(() => fail(new Error(`not ready within ${READY_MS} ms: ${text}`)), READY_MS);
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (chunk) => {
      text += chunk;
      const found = marks.map((mark) => new RegExp(`(?:^|\\s)(${mark}[^\\s,;)]*)\\s`).exec(text)?.[1]);
      if (found.every(Boolean)) {
        clearTimeout(late);
        done(found.map((word) => word.replace(/[/.]+$/, "")));
      }
    });
    child.on("exit", (code) => {
      clearTimeout(late);
      fail(new Error(`it ended with ${code} before it was ready: ${text}`));
    });
  });
}

// An ordinary user also where we are root: the tests must not depend on more.
export const ordinary = () => (process.getuid() === 0 ? { uid: NOBODY, gid: NOBODY } : {});

export function start(args, folder, env, program = PROGRAM) {
  const output = ["ignore", "pipe", "inherit"];
  const child = spawn(program, args, { cwd: folder, env: { ...process.env, ...env }, stdio: output, ...ordinary() });
  child.ended = new Promise((done) => child.once("exit", done));
  return child;
}

export async function ownFolder() {
  const folder = await mkdtemp(join(tmpdir(), "jari-browser-"));
  await chmod(folder, 0o777);
  return folder;
}

async function end(child, folder) {
  child.kill("SIGKILL");
  await child.ended;
  await rm(folder, { recursive: true, force: true });
}

const settled = (folder, listen) => ({
  JARI__HTTP__LISTEN: listen,
  JARI__OPS__LISTEN: "127.0.0.1:0",
  JARI__STORE__DATA_DIR: join(folder, "data"),
  JARI__LOG__LEVEL: "warn",
});

// `jari serve` on a folder of its own; `env` is what its environment has beside.
export async function ownServer(env = {}) {
  const folder = await ownFolder();
  const serve = (listen) => start(["serve"], folder, { ...settled(folder, listen), ...env });
  const server = { child: serve("127.0.0.1:0") };
  closeLater({ close: () => end(server.child, folder) });
  [server.url, server.key] = await printed(server.child, ["http://", "jari_"]);
  server.stop = async () => {
    server.child.kill("SIGTERM");
    await server.child.ended;
  };
  // On the same address, as a service manager would.
  server.startAgain = async () => {
    server.child = serve(new URL(server.url).host);
    await printed(server.child, ["http://"]);
  };
  return server;
}

// `jari serve --protect` before a site; `entrance` is where visitors of the site come in.
export async function ownProtected(site, { room, path }) {
  const folder = await ownFolder();
  const args = ["serve", "--protect", site.url, "--protect-listen", "127.0.0.1:0", "--room", room, "--path", path];
  const child = start(args, folder, settled(folder, "127.0.0.1:0"));
  closeLater({ close: () => end(child, folder) });
  const [url, entrance, key] = await printed(child, ["http://", "(?<=, open )http://", "jari_"]);
  return { url, key, entrance };
}

// `jari demo`: a sale with a simulated crowd.
export async function ownDemo(args) {
  const folder = await ownFolder();
  const child = start(["demo", "--listen", "127.0.0.1:0", ...args], folder, { TMPDIR: folder });
  closeLater({ close: () => end(child, folder) });
  const [url, key] = await printed(child, ["http://", "jari_"]);
  return { url, key };
}
