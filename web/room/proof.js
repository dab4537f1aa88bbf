// The work that a room may ask for: counters are tried until the key that one leads to begins as the challenge shows it
// (ALTCHA, proof of work v2). Runs as a worker; a page that has none imports it. Knows no page and makes no calls.

// So many tries at once: WebCrypto does them beside each other.
const BATCH = 32;
// Without a worker the page must not stand still for longer.
const SLICE_MS = 50;
const ALGORITHM = "PBKDF2/SHA-256";
// A counter has four bytes.
const COUNTERS = 2 ** 32;

// Answers {counter, derivedKey, time}; undefined where `signal` ended it. `tell` hears whole percents of the most that it may take.
async function solve(parameters, tell, signal) {
  if (parameters.algorithm !== ALGORITHM) throw new Error(`no such algorithm: ${parameters.algorithm}`);
  const derive = globalThis.crypto?.subtle ? byWebCrypto(parameters) : byHand(parameters);
  const most = parameters.data?.difficulty ?? COUNTERS;
  const began = Date.now();
  let rested = began;
  let told = 0;
  for (let counter = 0; counter < COUNTERS; counter += BATCH) {
    const keys = await Promise.all(Array.from({ length: BATCH }, (_, ahead) => derive(counter + ahead)));
    const found = keys.findIndex((key) => key.startsWith(parameters.keyPrefix));
    if (found >= 0) return { counter: counter + found, derivedKey: keys[found], time: Date.now() - began };
    const percent = Math.min(99, Math.floor((100 * counter) / most));
    if (percent > told) tell((told = percent));
    if (Date.now() - rested < SLICE_MS) continue;
    await new Promise((done) => setTimeout(done));
    if (signal?.aborted) return undefined;
    rested = Date.now();
  }
  throw new Error("there is no such counter");
}

function bytesOf(hex) {
  return Uint8Array.from(hex.match(/../g), (byte) => parseInt(byte, 16));
}

// Nonce and counter, the counter as four bytes with the largest first.
function password(nonce, counter) {
  const bytes = new Uint8Array(nonce.length + 4);
  bytes.set(nonce);
  new DataView(bytes.buffer).setUint32(nonce.length, counter);
  return bytes;
}

// Only on secure origins.
function byWebCrypto({ nonce, salt, cost, keyLength }) {
  const { subtle } = globalThis.crypto;
  const from = bytesOf(nonce);
  const how = { name: "PBKDF2", hash: "SHA-256", salt: bytesOf(salt), iterations: cost };
  return async (counter) => {
    const key = await subtle.importKey("raw", password(from, counter), "PBKDF2", false, ["deriveBits"]);
    const bits = new Uint8Array(await subtle.deriveBits(how, key, keyLength * 8));
    return Array.from(bits, (byte) => byte.toString(16).padStart(2, "0")).join("");
  };
}

// The same without WebCrypto, for plain HTTP: PBKDF2 (RFC 8018) of HMAC of SHA-256 (FIPS 180-4). One block of the key is
// enough, and password and salt are shorter than a block of the hash.
function byHand({ nonce, salt, cost, keyLength }) {
  const from = bytesOf(nonce);
  const salted = new Uint8Array([...bytesOf(salt), 0, 0, 0, 1]);
  const [inner, outer, hash, key] = [new Int32Array(8), new Int32Array(8), new Int32Array(8), new Int32Array(8)];
  return (counter) => {
    const secret = password(from, counter);
    block(inner, START, secret, 0x36);
    block(outer, START, secret, 0x5c);
    fill(salted);
    compress(hash, inner);
    again(hash, outer);
    key.set(hash);
    for (let round = 1; round < cost; round += 1) {
      again(hash, inner);
      again(hash, outer);
      for (let i = 0; i < 8; i += 1) key[i] ^= hash[i];
    }
    return Array.from(key, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("").slice(0, keyLength * 2);
  };
}

// The first 32 bits of the fractional parts of the primes' square and cube roots.
const START = new Int32Array(8);
const ROUND = new Int32Array(64);
const fraction = (root) => ((root - Math.floor(root)) * 2 ** 32) | 0;
for (let number = 2, primes = 0; primes < 64; number += 1) {
  let divisor = 2;
  while (number % divisor) divisor += 1;
  if (divisor < number) continue;
  if (primes < 8) START[primes] = fraction(Math.sqrt(number));
  ROUND[primes] = fraction(Math.cbrt(number));
  primes += 1;
}

// The block that is being hashed, and what it is spread to.
const WORDS = new Int32Array(64);

// A block of one byte's pattern, with the secret over its beginning.
function block(into, state, secret, pattern) {
  const bytes = new Uint8Array(64).fill(pattern);
  secret.forEach((byte, at) => (bytes[at] ^= byte));
  const view = new DataView(bytes.buffer);
  for (let i = 0; i < 16; i += 1) WORDS[i] = view.getInt32(i * 4);
  compress(into, state);
}

// The last block of a message whose first one is a pattern's.
function fill(message) {
  const view = new DataView(new ArrayBuffer(64));
  message.forEach((byte, at) => view.setUint8(at, byte));
  view.setUint8(message.length, 0x80);
  view.setUint32(60, (64 + message.length) * 8);
  for (let i = 0; i < 16; i += 1) WORDS[i] = view.getInt32(i * 4);
}

// Hashes a hash, as the message's last block after `state`.
function again(hash, state) {
  WORDS.set(hash);
  WORDS[8] = 0x80000000;
  WORDS.fill(0, 9, 15);
  WORDS[15] = (64 + 32) * 8;
  compress(hash, state);
}

function compress(into, state) {
  for (let i = 16; i < 64; i += 1) {
    const x = WORDS[i - 15];
    const y = WORDS[i - 2];
    const s = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
    const t = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
    WORDS[i] = WORDS[i - 16] + s + WORDS[i - 7] + t;
  }
  let a = state[0];
  let b = state[1];
  let c = state[2];
  let d = state[3];
  let e = state[4];
  let f = state[5];
  let g = state[6];
  let h = state[7];
  for (let i = 0; i < 64; i += 1) {
    const s = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const t = (h + s + ((e & f) ^ (~e & g)) + ROUND[i] + WORDS[i]) | 0;
    const u = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const v = (u + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + t) | 0;
    d = c;
    c = b;
    b = a;
    a = (t + v) | 0;
  }
  into[0] = state[0] + a;
  into[1] = state[1] + b;
  into[2] = state[2] + c;
  into[3] = state[3] + d;
  into[4] = state[4] + e;
  into[5] = state[5] + f;
  into[6] = state[6] + g;
  into[7] = state[7] + h;
}

globalThis.proof = { solve, byHand };
if (!globalThis.document && globalThis.postMessage) {
  globalThis.onmessage = ({ data }) => {
    const tell = (percent) => postMessage({ percent });
    solve(data, tell).then(postMessage, () => postMessage({ failed: true }));
  };
}
