// What a screen reader hears: states at once, positions at most every 30 s, the turn before everything else.

const POSITION_EVERY_MS = 30000;

export class Announcer {
  constructor(polite, assertive) {
    Object.assign(this, { polite, assertive, positionAt: 0, said: "" });
  }

  // A change of state, or a notice.
  state(text) {
    this.assertive.textContent = "";
    this.polite.textContent = text;
    this.positionAt = Date.now();
  }

  position(text) {
    if (text === this.said || Date.now() - this.positionAt < POSITION_EVERY_MS) return;
    this.said = text;
    this.state(text);
  }

  turn(text) {
    this.state("");
    this.assertive.textContent = text;
  }
}
