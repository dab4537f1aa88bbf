// A form's field that holds several texts, each in a row of its own. Checks nothing: the server does.
import { focusOn } from "./action";
import { ofOne } from "./problem";
import { say } from "./text";

interface ListFieldProps {
  id: string;
  name: string;
  rows: string[];
  change: (rows: string[]) => void;
  problem?: string | undefined;
  // What happened to it meanwhile.
  news?: string | undefined;
  hint: string;
  // What it means that there is none.
  none: string;
  changed: boolean;
}

export function ListField({ id, name, rows, change, problem, news, hint, none, changed }: ListFieldProps) {
  const wrong = problem === undefined ? undefined : ofOne(rows, problem);
  const ofAll = wrong ? undefined : problem;
  const set = (at: number, ...texts: string[]) => change([...rows.slice(0, at), ...texts, ...rows.slice(at + 1)]);
  const add = () => {
    focusOn(`${id}-${rows.length}`);
    change([...rows, ""]);
  };
  const remove = (at: number) => {
    focusOn(rows.length === 1 ? `${id}-add` : `${id}-${Math.min(at, rows.length - 2)}`);
    set(at);
  };
  // A list that is pasted is a list here as well.
  const paste = (event: ClipboardEvent, at: number) => {
    const texts = (event.clipboardData?.getData("text") ?? "").split(/\s+/).filter(Boolean);
    if (texts.length < 2) return;
    event.preventDefault();
    set(at, ...(rows[at]?.trim() ? [rows[at]] : []), ...texts);
  };
  return (
    <fieldset class={changed ? "list changed" : "list"} aria-describedby={`${id}-hint`}>
      <legend>{name}</legend>
      <p id={`${id}-hint`} class="soft small-text">{hint}</p>
      {ofAll && <p id={`${id}-problem`} class="problem">{ofAll}</p>}
      {news && <p id={`${id}-news`} class="hint" role="status">{news}</p>}
      {rows.length === 0 && <p class="soft small-text">{none}</p>}
      {rows.map((row, at) => {
        const own = wrong?.at === at ? wrong.problem : undefined;
        return (
          <div key={at} class="field">
            <div class="input">
              <input
                id={`${id}-${at}`}
                type="text"
                inputMode="url"
                spellcheck={false}
                value={row}
                aria-label={say("list.row", { name, n: at + 1 })}
                aria-invalid={own !== undefined || ofAll !== undefined}
                aria-describedby={own ? `${id}-${at}-problem` : ofAll ? `${id}-problem` : undefined}
                onInput={(event) => set(at, event.currentTarget.value)}
                onPaste={(event) => paste(event, at)}
              />
              <button type="button" class="quiet small" aria-label={say("list.remove_row", { value: row.trim() || String(at + 1) })} onClick={() => remove(at)}>
                {say("list.remove")}
              </button>
            </div>
            {own && <p id={`${id}-${at}-problem`} class="problem">{own}</p>}
          </div>
        );
      })}
      <p><button id={`${id}-add`} type="button" class="quiet small" aria-label={say("list.add_row", { name })} onClick={add}>{say("list.add")}</button></p>
    </fieldset>
  );
}
