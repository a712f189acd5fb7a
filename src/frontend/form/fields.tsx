/** Fields: a frame with the label, what helps and what is wrong, and in it the control of one value. Here those of plain values, lists and objects. */

import type { ComponentChildren, ComponentType, TargetedEvent } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { FormLink } from "./link.ts";
import { classes, Options, Quiet } from "./ui.tsx";
import {
  type Choice,
  emptyText,
  hasPart,
  isObject,
  isSame,
  type Node,
  type Path,
  type Problem,
  problemsAt,
  readNumber,
  startOf,
  textOf,
  wholeObject,
} from "./values.ts";

export interface FieldProps {
  node: Node;
  path: Path;
  link: FormLink;
  id: string;
  /** What is drafted; undefined where nothing is. */
  value: any;
  /** What is wrong here and further inside. */
  problems: Problem[];
  /** With undefined, the default holds again. */
  change: (value: any) => void;
}

/** How a value is edited. */
interface Control {
  Input: ComponentType<FieldProps>;
  /** Has several inputs, none of which is named by the label alone. */
  isGroup?: boolean;
  isWide?: boolean;
}

/** The controls by the name of what is special about a field, else by its kind. */
export const CONTROLS: Record<string, Control> = {};

// So many choices stand beside each other.
const SEGMENTS = 5;

function controlOf({ special = "", kind, long, choices = [] }: Node): Control {
  const isLong = choices.length > SEGMENTS;
  const drawn = kind === "text" && long ? "long" : kind === "choice" && isLong ? "select" : kind;
  return CONTROLS[special] ?? CONTROLS[drawn] ?? CONTROLS.json;
}

/** A value as it holds now: what is drafted, or else the default. */
export function currentOf({ node, value }: FieldProps) {
  return value === undefined ? node.default : value;
}

/** What is wrong with a field itself, and not with a part that is drawn inside of it. */
function ownProblems(field: FieldProps) {
  const current = currentOf(field);
  return field.problems.filter(({ at }) => !at.length || !hasPart(field.node, current, at[0]));
}

export function Field(field: FieldProps) {
  const { node, id, value, change, path } = field;
  const { Input, isGroup, isWide } = controlOf(node);
  const own = ownProblems(field);
  const words = own.map((problem) => problem.words).join(" ");
  const root = useRef<HTMLDivElement>(null);
  const reset = () => {
    change(undefined);
    // The button that was pressed is gone then.
    root.current?.querySelector<HTMLElement>("input, textarea, select, button:not(.rbf-reset)")?.focus();
  };
  const Label = isGroup ? "span" : "label";
  return (
    <div
      ref={root}
      class={classes("rbf-field", isWide && "rbf-wide", words && "rbf-wrong")}
      data-field={path.join(".")}
    >
      <div class="rbf-label">
        <Label class="rbf-name" id={`${id}-label`} {...(isGroup ? {} : { for: id })}>
          {node.label}
          {node.required && <span class="rbf-needed"> Required</span>}
        </Label>
        {/* It takes its room while it is hidden, so that nothing moves under who is typing. */}
        {!node.required && path.length === 1 && (
          <Quiet
            class="rbf-quiet rbf-reset"
            hidden={value === undefined || isSame(value, node.default)}
            aria-label={`Reset: ${node.label}`}
            act={reset}
          >
            Reset
          </Quiet>
        )}
      </div>
      <Input {...field} />
      <p class="rbf-problem" hidden={!words}>
        <span id={`${id}-problem`}>{words}</span>
      </p>
      {node.help && (
        <p class="rbf-help rbf-caption" id={`${id}-help`}>
          {node.help}
        </p>
      )}
    </div>
  );
}

/** What every input says of its field. */
export function inputFacts(field: FieldProps) {
  const { id, node } = field;
  return {
    id,
    "aria-describedby": classes(node.help && `${id}-help`, `${id}-problem`),
    "aria-invalid": ownProblems(field).length ? ("true" as const) : undefined,
    autocomplete: "off" as const,
    spellcheck: false,
  };
}

/** What stands in an input: the value as it was spelt, for as long as that means the value. The caret stays. */
export function useSpelling(value: unknown, write: (value: any) => string, read: (text: string) => unknown) {
  const [typed, spell] = useState<string | null>(null);
  return [typed !== null && isSame(read(typed), value) ? typed : write(value), spell] as const;
}

// Texts.

/** What a text input shows. Cleared is not the same as never typed: an empty text is sent as one. */
export function textFacts(field: FieldProps) {
  const current = currentOf(field) ?? null;
  return {
    ...inputFacts(field),
    dir: "auto" as const,
    value: current === null ? "" : textOf(current),
    placeholder: field.value === "" ? "empty text" : emptyText(field.node),
    onInput: (event: TargetedEvent<HTMLInputElement | HTMLTextAreaElement>) => field.change(event.currentTarget.value),
  };
}

function Text(field: FieldProps) {
  return <input type="text" class="rbf-text" {...textFacts(field)} />;
}

function LongText(field: FieldProps) {
  return (
    <>
      <textarea class="rbf-text rbf-long" {...textFacts(field)} spellcheck />
      <Counter {...field} />
    </>
  );
}

/** How long a text is, in characters as the service counts them: an emoji is one, not two. */
export function Counter(field: FieldProps) {
  const { most } = field.node;
  const length = [...String(currentOf(field) ?? "")].length;
  const words = most ? `${length} / ${most} characters` : `${length} character${length === 1 ? "" : "s"}`;
  return <span class={classes("rbf-caption", !!most && length > most && "rbf-counter-over")}>{words}</span>;
}

/** A value as JSON text: the kernel reads it, and says what is wrong with it. */
function Json(field: FieldProps) {
  return (
    <textarea
      {...textFacts(field)}
      class="rbf-text rbf-long rbf-json"
      dir="ltr"
      autocapitalize="off"
      value={field.value ?? ""}
      placeholder={emptyText(field.node)}
      onInput={({ currentTarget: { value } }) => field.change(value.trim() ? value : undefined)}
    />
  );
}

// Numbers.

/** A number; `label` names it where its field has no label of its own. */
export function NumberRow({ placeholder, label, ...field }: FieldProps & { placeholder?: string; label?: string }) {
  const { node, value, change } = field;
  const now = value === "" || value === null ? undefined : value;
  const [spelt, spell] = useSpelling(now, textOf, readNumber);
  const set = (text: string) => {
    spell(text);
    change(readNumber(text));
  };
  return (
    <input
      type="text"
      {...inputFacts(field)}
      aria-label={label}
      class="rbf-number"
      inputmode={node.kind === "whole" ? "numeric" : "decimal"}
      placeholder={placeholder ?? emptyText(node)}
      value={spelt}
      onInput={(event) => set(event.currentTarget.value)}
    />
  );
}

// Choices.

/** A few choices beside each other; `draw` gives what stands in one instead of its words. */
export function Segments({ draw, ...field }: FieldProps & { draw?: (choice: Choice) => ComponentChildren }) {
  const { node, id, change } = field;
  const current = currentOf(field);
  return (
    <div class="rbf-segments" role="radiogroup" aria-labelledby={`${id}-label`}>
      {(node.choices ?? []).map((choice, index) => (
        <label key={index} class="rbf-segment" for={`${id}-${index}`}>
          <input
            type="radio"
            id={`${id}-${index}`}
            name={id}
            checked={isSame(choice.value, current)}
            onChange={() => change(choice.value)}
          />
          {draw ? draw(choice) : <span class="rbf-segment-words">{choice.label}</span>}
        </label>
      ))}
    </div>
  );
}

function Select(field: FieldProps) {
  const { node, change } = field;
  const choices = node.choices ?? [];
  const found = choices.findIndex((choice) => isSame(choice.value, currentOf(field)));
  return (
    <select
      class="rbf-text"
      {...inputFacts(field)}
      value={found < 0 ? "" : String(found)}
      onChange={({ currentTarget: { value } }) => change(value ? choices[Number(value)].value : undefined)}
    >
      <option value="">{emptyText(node) || "Choose …"}</option>
      <Options all={choices.map(({ label }, index) => [String(index), label])} />
    </select>
  );
}

function Check(field: FieldProps) {
  const current = currentOf(field);
  return (
    <div class="rbf-check">
      <input
        type="checkbox"
        class="rbf-check-box"
        {...inputFacts(field)}
        checked={current === true}
        onChange={(event) => field.change(event.currentTarget.checked)}
      />
      <label for={field.id} aria-hidden="true">
        {current === undefined ? emptyText(field.node) : current === true ? "On" : "Off"}
      </label>
    </div>
  );
}

// Values inside of values.

function List(field: FieldProps) {
  const { node, link, path, id, change } = field;
  const current = currentOf(field);
  const values: any[] = Array.isArray(current) ? current : [];
  const item = node.item as Node;
  const root = useRef<HTMLDivElement>(null);
  /** The entry that takes the focus once it is drawn; the button where there is none. */
  const next = useRef<number | null>(null);
  useLayoutEffect(() => {
    if (next.current === null) return;
    const row = root.current?.querySelectorAll(":scope > .rbf-items > .rbf-item")[next.current];
    (row ?? root.current)?.querySelector<HTMLElement>("input, textarea, select, .rbf-list-add")?.focus();
    next.current = null;
  });
  const add = () => {
    next.current = values.length;
    change([...values, startOf(item)]);
  };
  const remove = (at: number) => {
    const left = values.filter((_, index) => index !== at);
    next.current = Math.min(at, left.length - 1);
    // As before anything was added: a list that is required is missing then.
    change(isSame(left, node.required ? [] : node.default) ? undefined : left);
  };
  return (
    <div class="rbf-nested" role="group" aria-labelledby={`${id}-label`} ref={root}>
      <ol class="rbf-items" role="list" hidden={!values.length}>
        {values.map((value, at) => (
          <li key={at} class="rbf-item">
            <Field
              node={{
                ...item,
                name: String(at),
                label: `${at + 1}.`,
                required: false,
                entry: true,
                default: undefined,
              }}
              path={[...path, at]}
              link={link}
              id={`${id}-${at}`}
              value={value}
              problems={problemsAt(field.problems, at)}
              change={(now) => change(values.map((old, index) => (index === at ? (now ?? startOf(item)) : old)))}
            />
            <Quiet aria-label={`Remove ${at + 1}.`} act={() => remove(at)}>
              Remove
            </Quiet>
          </li>
        ))}
      </ol>
      <Quiet
        class="rbf-quiet rbf-list-add"
        act={add}
        isOff={values.length >= (node.most ?? Infinity)}
        aria-label={`Add to ${node.label}`}
      >
        Add
      </Quiet>
    </div>
  );
}

function ObjectFields(field: FieldProps) {
  const { node, path, link, id, change } = field;
  const current = currentOf(field);
  const fields = node.fields ?? [];
  const values = isObject(current) ? current : {};
  const known = () => Object.fromEntries(fields.map(({ name }) => [name, values[name]]));
  return (
    <div class="rbf-nested" role="group" aria-labelledby={`${id}-label`}>
      {fields.map((inner) => (
        <Field
          key={inner.name}
          node={inner}
          path={[...path, inner.name]}
          link={link}
          id={`${id}-${inner.name}`}
          value={values[inner.name]}
          problems={problemsAt(field.problems, inner.name)}
          change={(value) => change(wholeObject(node, { ...known(), [inner.name]: value }))}
        />
      ))}
    </div>
  );
}

Object.assign(CONTROLS, {
  text: { Input: Text },
  long: { Input: LongText, isWide: true },
  whole: { Input: NumberRow },
  real: { Input: NumberRow },
  choice: { Input: Segments, isGroup: true },
  select: { Input: Select },
  check: { Input: Check },
  json: { Input: Json, isWide: true },
  list: { Input: List, isGroup: true, isWide: true },
  object: { Input: ObjectFields, isGroup: true, isWide: true },
} satisfies typeof CONTROLS);
