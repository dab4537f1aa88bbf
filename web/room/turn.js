// The moment of the turn: the sound, and going in by itself, which can be stopped.

// Long enough to hear the announcement and to press the button.
export const AUTO_ENTER_S = 10;
const SOUND_KEY = "jari:sound";
const TONES = [660, 880, 1100];

// Remembered where the browser lets us; else for this page only.
export function recall(storage, key) {
  try {
    return JSON.parse(window[storage].getItem(key));
  } catch {
    return null;
  }
}

export function keep(storage, key, value) {
  try {
    window[storage].setItem(key, JSON.stringify(value));
  } catch {
    // Storage is refused in some private windows: nothing depends on it.
  }
}

// Off until asked for: browsers allow sound only after a gesture, and the toggle is one.
export class Sound {
  constructor(button) {
    this.button = button;
    this.on = recall("localStorage", SOUND_KEY) === true;
    button.addEventListener("click", () => this.toggle());
    // Turned on in an earlier visit: the first gesture of this one unlocks it.
    for (const gesture of ["pointerdown", "keydown"]) {
      document.addEventListener(gesture, () => this.on && this.unlock(), { once: true });
    }
    this.show();
  }

  toggle() {
    this.on = !this.on;
    keep("localStorage", SOUND_KEY, this.on);
    this.show();
    if (this.on) this.play();
  }

  show() {
    this.button.setAttribute("aria-pressed", String(this.on));
  }

  unlock() {
    const Audio = window.AudioContext || window.webkitAudioContext;
    if (Audio) this.audio ??= new Audio();
    return this.audio?.resume();
  }

  play() {
    if (!this.on) return;
    this.unlock();
    TONES.forEach((tone, index) => this.beep(tone, index * 0.25));
  }

  beep(tone, after) {
    if (!this.audio) return;
    const at = this.audio.currentTime + after;
    const [voice, volume] = [this.audio.createOscillator(), this.audio.createGain()];
    voice.frequency.value = tone;
    volume.gain.setValueAtTime(0.15, at);
    volume.gain.exponentialRampToValueAtTime(0.001, at + 0.22);
    voice.connect(volume).connect(this.audio.destination);
    voice.start(at);
    voice.stop(at + 0.22);
  }
}

// Counts down only while the page is in sight: who looks elsewhere should not use up the pass unseen.
export class AutoEnter {
  // `show(secondsLeft | undefined)` draws it, `go()` enters.
  constructor({ show, go }) {
    Object.assign(this, { show, go, left: AUTO_ENTER_S });
  }

  start() {
    if (this.timer) return;
    this.left = AUTO_ENTER_S;
    this.show(this.left);
    this.timer = setInterval(() => this.tick(), 1000);
  }

  tick() {
    if (document.visibilityState !== "visible") return;
    this.left -= 1;
    this.show(this.left);
    if (this.left > 0) return;
    this.stop();
    this.go();
  }

  stop() {
    clearInterval(this.timer);
    this.timer = undefined;
  }
}
