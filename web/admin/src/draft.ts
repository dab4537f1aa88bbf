// Texts that somebody types over what the server has, and how they go on when another changes it. Draws and sends nothing.

type Texts<Name extends string> = Record<Name, string>;

export interface Draft<Base extends { version: number }, Name extends string> {
  // As the server has it.
  base: Base;
  texts: Texts<Name>;
  // The version that whoever types knows: it stays behind until they were told of a clash.
  known: number;
  // What another has set meanwhile where something was typed.
  clashes: Partial<Texts<Name>>;
}

export class Drafts<Base extends { version: number }, Name extends string> {
  // How a value of the server's is written down to be typed over.
  constructor(readonly textsOf: (base: Base) => Texts<Name>) {}

  fresh(base: Base): Draft<Base, Name> {
    return { base, texts: this.textsOf(base), known: base.version, clashes: {} };
  }

  // What was typed stays; whatever was left alone follows what another has set. `told`: they know of all by now.
  rebased(old: Draft<Base, Name>, now: Base, told: boolean, was = this.textsOf(old.base)): Draft<Base, Name> {
    const is: Record<string, string> = this.textsOf(now);
    const before: Record<string, string> = was;
    const texts: Record<string, string> = { ...old.texts };
    const clashes = { ...old.clashes } as Record<string, string>;
    for (const [name, text] of Object.entries(is)) {
      if (texts[name] === before[name]) texts[name] = text;
      else if (text !== before[name]) clashes[name] = text;
      if (texts[name] === text) delete clashes[name];
    }
    const unheard = !told && Object.keys(clashes).length > 0;
    const known = unheard ? old.known : now.version;
    return { base: now, texts: texts as Texts<Name>, known, clashes: clashes as Partial<Texts<Name>> };
  }

  // What was sent is settled; what was typed since then stays.
  applied(old: Draft<Base, Name>, sent: Texts<Name>, now: Base): Draft<Base, Name> {
    return this.rebased({ ...old, clashes: {} }, now, true, sent);
  }
}
