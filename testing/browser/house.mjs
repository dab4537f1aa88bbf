// Two nodes on one Redis behind the nginx of `deploy/nginx`: servers of a test's own, as an ordinary user, ended by their
// handles. Knows no browser and no room.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { closeLater, until } from "./browser.mjs";
import { ownFolder, printed, start } from "./program.mjs";

// Where Debian puts them; `cargo xtask test` installs them.
const REDIS = "/usr/bin/redis-server";
const NGINX = "/usr/sbin/nginx";
const DEPLOY = fileURLToPath(new URL("../../deploy/nginx/", import.meta.url));
// The machine may be busy with other tests.
const READY_MS = 60000;

async function freePort() {
  const server = createServer();
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

const listens = (port) =>
  new Promise((done) => {
    const socket = connect(port, "127.0.0.1", () => done(true)).on("error", () => done(false));
    socket.unref().on("connect", () => socket.destroy());
  });

const untilItListens = (what, port) => until(`${what} listens`, () => listens(port), Boolean, READY_MS);

const end = async (child, signal = "SIGKILL") => {
  child.kill(signal);
  await child.ended;
};

// The file with other words in it; what is no longer found in it fails the test.
async function changed(file, words) {
  const put = (text, [from, to]) => {
    assert.ok(text.includes(from), `${file} has no ${from} any more`);
    return text.replaceAll(from, to);
  };
  return words.reduce(put, await readFile(join(DEPLOY, file), "utf8"));
}

// As `docs/how-to/run-several-nodes.md` says: this folder, these ports and nodes in place of the example's.
async function configureNginx(folder, port, [one, two]) {
  for (const place of ["run", "var/log/nginx", "var/lib/nginx", "tls"]) {
    await mkdir(join(folder, place), { recursive: true });
    await chmod(join(folder, place), 0o777);
  }
  const key = join(folder, "tls/privkey.pem");
  const certificate = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"];
  const files = ["-keyout", key, "-out", join(folder, "tls/fullchain.pem")];
  await promisify(execFile)("openssl", ["req", ...certificate, ...files]);
  await chmod(key, 0o644);
  const main = await changed("nginx.conf", [
    [" /var/", ` ${folder}/var/`],
    [" /run/", ` ${folder}/run/`],
    [" /etc/nginx/", ` ${folder}/`],
    ["worker_rlimit_nofile 131072;", "worker_rlimit_nofile 1024;"],
    ["worker_connections 100000;", "worker_connections 500;"],
  ]);
  const [https, http] = [await freePort(), await freePort()];
  const jari = await changed("jari.conf", [
    [" /etc/nginx/", ` ${folder}/`],
    ["listen [::]:443 ssl http2 backlog=4096;", ""],
    ["listen [::]:80 backlog=4096;", ""],
    ["listen 443", `listen 127.0.0.1:${https}`],
    ["listen 80", `listen 127.0.0.1:${http}`],
    ["listen 127.0.0.1:8000", `listen 127.0.0.1:${port}`],
    ["server 10.0.0.11:8080 ", `server 127.0.0.1:${one} `],
    ["server 10.0.0.12:8080 ", `server 127.0.0.1:${two} `],
    ["server 10.0.0.13:8080 ", "# "],
  ]);
  await writeFile(join(folder, "nginx.conf"), main);
  await writeFile(join(folder, "jari.conf"), jari);
}

const nginx = (folder) =>
  start(["-p", folder, "-c", join(folder, "nginx.conf"), "-e", join(folder, "error.log"), "-g", "daemon off;"], folder, {}, NGINX);

const redis = (folder, port) =>
  start(["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder], folder, {}, REDIS);

// What the server answers to one command, as text.
const ask = (port, command) =>
  new Promise((done, failed) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(`${command}\r\n`)).on("error", failed);
    socket.once("data", (answer) => {
      socket.destroy();
      done(answer.toString().trim());
    });
  });

const status = async (url) => (await fetch(url)).status;

async function newNode(folder, store, url) {
  const [port, ops] = [await freePort(), await freePort()];
  const child = start(["serve", "--config", "/dev/null"], folder, {
    JARI__HTTP__LISTEN: `127.0.0.1:${port}`,
    JARI__HTTP__PUBLIC_URL: url,
    JARI__HTTP__TRUSTED_PROXIES: "127.0.0.1",
    JARI__OPS__LISTEN: `127.0.0.1:${ops}`,
    JARI__STORE__URL: `redis://127.0.0.1:${store}`,
    JARI__STORE__DATA_DIR: join(folder, "data"),
    JARI__LOG__LEVEL: "error",
  });
  return {
    child,
    port,
    kill: () => end(child),
    // A node learns of another's rooms within a second or so.
    knows: (room) => until("the node has the room", () => status(`http://127.0.0.1:${port}/v1/rooms/${room}`), (now) => now === 200),
    // How many streams it holds.
    streams: async () => {
      const text = await (await fetch(`http://127.0.0.1:${ops}/metrics`)).text();
      return Number(/^jari_streams(?:\{[^}]*\})? (\d+)/m.exec(text)?.[1]);
    },
  };
}

// A Redis, two nodes with shared records, and nginx; `url` is nginx's, `redis` takes a command for the store.
export async function ownHouse() {
  const folder = await ownFolder();
  const children = [];
  closeLater({
    close: async () => {
      // nginx, told to end, ends its workers.
      await Promise.all(children.map((child) => end(child, "SIGTERM")));
      await rm(folder, { recursive: true, force: true });
    },
  });
  const [store, balancer] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${balancer}`;
  children.push(redis(folder, store));
  await untilItListens("Redis", store);
  const nodes = [];
  let key;
  for (const marks of [["http://", "jari_"], ["http://"]]) {
    const node = await newNode(folder, store, url);
    children.push(node.child);
    nodes.push(node);
    // The first one makes the key that both know.
    const [, made] = await printed(node.child, marks);
    key ??= made;
  }
  await configureNginx(folder, balancer, nodes.map((node) => node.port));
  children.push(nginx(folder));
  await untilItListens("nginx", balancer);
  return { url, key, nodes, redis: (command) => ask(store, command) };
}
