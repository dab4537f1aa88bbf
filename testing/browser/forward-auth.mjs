// nginx and Envoy by the very configurations in deploy/forward-auth: this test's folder, ports and addresses in place of the
// example's, and nothing else changed. What is no longer found in them, or a program that is not there, fails the test.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { chmod, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { closeLater, until } from "./browser.mjs";
import { ordinary, ownFolder } from "./program.mjs";

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));
const NGINX = "/usr/sbin/nginx";
// Below it the folder of the Python version.
const ENVOY = join(REPOSITORY, "target/tools/envoy/lib");
// It is ready within a second; a loaded machine may take many.
const READY_MS = 60000;

export async function freePort() {
  const server = createServer();
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

// The text with each of `pairs` put in place, everywhere.
function changed(text, pairs) {
  for (const [from, to] of pairs) {
    assert.ok(text.includes(from), `the configuration has no ${from} any more`);
    text = text.replaceAll(from, to);
  }
  return text;
}

const example = (path) => readFile(join(REPOSITORY, "deploy/forward-auth", path), "utf8");

async function nginx({ folder, here, jari, site }) {
  for (const place of ["run", "var/log/nginx", "var/lib/nginx"]) {
    await mkdir(join(folder, place), { recursive: true });
  }
  const file = join(folder, "nginx.conf");
  await writeFile(file, changed(await example("nginx/nginx.conf"), [
    [" /var/", ` ${folder}/var/`],
    [" /run/", ` ${folder}/run/`],
    [" /etc/nginx/", ` ${folder}/`],
    ["listen 443", `listen 127.0.0.1:${await freePort()}`],
    ["listen 80", `listen 127.0.0.1:${await freePort()}`],
    ["listen 127.0.0.1:8000", `listen 127.0.0.1:${here}`],
    ["10.0.0.11:8080", `127.0.0.1:${jari}`],
    ["10.0.0.21:3000", `127.0.0.1:${site}`],
  ]));
  return [NGINX, ["-p", folder, "-c", file, "-e", "stderr", "-g", "daemon off;"]];
}

async function envoy({ folder, here, jari, site }) {
  const versions = await readdir(ENVOY).catch(() => []);
  assert.equal(versions.length, 1, "Envoy is not installed: `cargo xtask test --only tools` installs it");
  const any = (port) => `address: "::", ipv4_compat: true, port_value: ${port} `;
  const local = (port) => `address: 127.0.0.1, port_value: ${port} `;
  const file = join(folder, "envoy.yaml");
  await writeFile(file, changed(await example("envoy/envoy.yaml"), [
    [" /etc/envoy/", ` ${folder}/`],
    [any(443), local(await freePort())],
    [any(80), local(await freePort())],
    [local(8000), local(here)],
    ["address: 10.0.0.11, port_value: 8080 }", `address: 127.0.0.1, port_value: ${jari} }`],
    ["address: 10.0.0.21, port_value: 3000 }", `address: 127.0.0.1, port_value: ${site} }`],
  ]));
  const program = join(ENVOY, versions[0], "site-packages/envoy/_bin/envoy");
  return [program, ["-c", file, "--disable-hot-restart", "--concurrency", "2", "--log-level", "warning"]];
}

const KINDS = { nginx, envoy };

// The examples speak TLS on one of their ports, which nothing here asks.
async function certificate(folder) {
  await mkdir(join(folder, "tls"));
  const at = (name) => join(folder, "tls", name);
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", at("privkey.pem")];
  const what = ["req", "-x509", ...key, "-out", at("fullchain.pem"), "-days", "2", "-subj", "/CN=a test"];
  execFileSync("openssl", what, { stdio: ["ignore", "ignore", "pipe"] });
  await chmod(at("privkey.pem"), 0o644);
}

// For the ordinary user that the program runs as.
async function openToAll(folder) {
  await chmod(folder, 0o777);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) await openToAll(join(folder, entry.name));
  }
}

// Starts one on port `here`, before the ports of Jari and the site; back once it answers.
export async function proxy(kind, { here, jari, site }) {
  const folder = await ownFolder();
  await certificate(folder);
  const [program, args] = await KINDS[kind]({ folder, here, jari, site });
  await openToAll(folder);
  let log = "";
  const child = spawn(program, args, { cwd: folder, env: { LC_ALL: "C" }, stdio: ["ignore", "ignore", "pipe"], ...ordinary() });
  child.stderr.setEncoding("utf8").on("data", (text) => (log += text));
  let over = false;
  const ended = new Promise((done) => ["exit", "error"].forEach((event) => child.once(event, done))).then(() => (over = true));
  closeLater({
    close: async () => {
      // nginx ends its workers where it is told to end, not where it is killed.
      child.kill("SIGTERM");
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  });
  const url = `http://127.0.0.1:${here}`;
  await until(`${kind} answers`, async () => {
    assert.ok(!over, `${kind} ended: ${log}`);
    return fetch(`${url}/.jari/v1/rooms/shop`).then(({ status }) => status, () => log);
  }, (status) => status === 200, READY_MS);
  return url;
}
