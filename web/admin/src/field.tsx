// A form's field with its name, its hint and what is wrong with it. Checks nothing: the server does.
import type { ComponentChildren } from "preact";

interface FieldProps {
  id: string;
  name: string;
  value: string;
  change: (value: string) => void;
  problem?: string | undefined;
  hint?: ComponentChildren;
  // What happened to it meanwhile.
  news?: string | undefined;
  type?: "text" | "number" | "datetime-local";
  min?: number;
  max?: number | string;
  step?: number | "any";
  unit?: string;
  rows?: number;
  changed?: boolean;
}

export function Field(props: FieldProps) {
  const { id, name, value, change, problem, hint, news, type = "text", min, max, step, unit, rows, changed } = props;
  const described = [problem && `${id}-problem`, news && `${id}-news`, hint && `${id}-hint`].filter(Boolean).join(" ") || undefined;
  const told = { id, value, "aria-invalid": problem !== undefined, "aria-describedby": described };
  return (
    <div class={changed ? "field changed" : "field"}>
      <label for={id}>{name}</label>
      <div class="input">
        {rows ? (
          <textarea {...told} rows={rows} onInput={(event) => change(event.currentTarget.value)} />
        ) : type === "number" ? (
          <input {...told} type="number" inputMode="decimal" min={min} max={max} step={step} onInput={(event) => change(event.currentTarget.value)} />
        ) : type === "datetime-local" ? (
          <input {...told} type="datetime-local" max={max} onInput={(event) => change(event.currentTarget.value)} />
        ) : (
          <input {...told} type="text" onInput={(event) => change(event.currentTarget.value)} />
        )}
        {unit && <span class="unit">{unit}</span>}
      </div>
      {problem && <p id={`${id}-problem`} class="problem">{problem}</p>}
      {news && <p id={`${id}-news`} class="hint" role="status">{news}</p>}
      {hint && <p id={`${id}-hint`} class="soft small-text">{hint}</p>}
    </div>
  );
}
