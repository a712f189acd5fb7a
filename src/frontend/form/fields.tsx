/** Fields: a frame with the label, what helps and what is wrong, and in it the control of one value. Here those of plain values. */

import type { ComponentChildren, ComponentType, TargetedEvent } from "preact";
import { useState } from "preact/hooks";
import type { FormLink } from "./link.ts";
import { classes } from "./ui.tsx";
import {
  arrowStep,
  BY_SERVICE,
  type Choice,
  EMPTY,
  emptyText,
  findTrack,
  hasPart,
  isOpen,
  isSame,
  type Node,
  numberText,
  type Path,
  type Problem,
  readNumber,
  shortText,
  stepFrom,
  textOf,
  tidy,
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
  isNested?: boolean;
  /** Inside of a field of several kinds, whose frame is drawn already. */
  isBare?: boolean;
}

/** How a value is edited. */
interface Control {
  Input: ComponentType<FieldProps>;
  /** Has several inputs, none of which is named by the label alone. */
  isGroup?: boolean;
  isWide?: boolean;
  /** Stands at the end of the label's line. */
  Lead?: ComponentType<FieldProps>;
}

/** The controls by the name of what is special about a field, else by its kind. */
export const CONTROLS: Record<string, Control> = {};

// Segments: so many stand beside each other, with so many letters each and in all.
const SEGMENTS = 5;
const SEGMENT_LETTERS = 18;
const SEGMENTS_LETTERS = 48;

function controlOf({ special = "", kind, long, choices = [] }: Node): Control {
  const letters = choices.map(({ label }) => label.length);
  const total = letters.reduce((sum, length) => sum + length, 0);
  const isLong = letters.length > SEGMENTS || Math.max(0, ...letters) > SEGMENT_LETTERS || total > SEGMENTS_LETTERS;
  const drawn = kind === "text" && long ? "long" : kind === "choice" && isLong ? "select" : kind;
  return CONTROLS[special] ?? CONTROLS[drawn] ?? CONTROLS.json;
}

export function Field(field: FieldProps) {
  const control = controlOf(field.node);
  return field.isBare ? <control.Input {...field} /> : <Frame field={field} control={control} />;
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

function Frame({ field, control }: { field: FieldProps; control: Control }) {
  const { node, id, value, change, path, isNested } = field;
  const { Input, isGroup, isWide, Lead } = control;
  const own = ownProblems(field);
  const words = own.map((problem) => problem.words).join(" ");
  const isMissing = own.length > 0 && own.every(({ kind }) => kind === "missing");
  const nearest = own.find(({ at }) => !at.length)?.nearest;
  const Label = isGroup ? "span" : "label";
  const isDefaultOpen = node.default === undefined || node.default === null;
  const set = (next: unknown, button: Element) => {
    change(next);
    focusControl(button);
  };
  return (
    <div
      class={classes("rbf-field", isWide && "rbf-wide", words && "rbf-wrong", isMissing && "rbf-missing")}
      data-field={path.join(".")}
    >
      <div class="rbf-label">
        <span class="rbf-label-name">
          <Label class="rbf-name" id={`${id}-label`} {...(isGroup ? {} : { for: id })}>
            {node.label}
            {node.required && (
              <>
                {" "}
                <span class="rbf-needed">Required</span>
              </>
            )}
          </Label>
          {/* They take their room while they are hidden, so that nothing moves under who is typing. */}
          {!node.required && !isNested && (
            <>
              <span class="rbf-changed" title="changed" hidden={value === undefined || isSame(value, node.default)}>
                <span class="rb-hidden">changed</span>
              </span>
              <button
                type="button"
                class="rbf-quiet rbf-reset"
                hidden={value === undefined}
                title={isDefaultOpen ? "Let the service choose" : `Reset to ${shortText(node.default)}`}
                aria-label={`Reset: ${node.label}`}
                onClick={(event) => set(undefined, event.currentTarget)}
              >
                Reset
              </button>
            </>
          )}
        </span>
        <span class="rbf-label-tools">{Lead && <Lead {...field} />}</span>
      </div>
      <Input {...field} />
      <p class="rbf-problem" hidden={!words}>
        <span id={`${id}-problem`}>{words}</span>
        <button
          type="button"
          class="rbf-quiet rbf-fix"
          hidden={nearest === undefined}
          onClick={(event) => set(nearest, event.currentTarget)}
        >
          {nearest === undefined ? "" : `Use ${shortText(nearest)}`}
        </button>
      </p>
      {node.help && (
        <p class="rbf-help rbf-caption" id={`${id}-help`}>
          {node.help}
        </p>
      )}
    </div>
  );
}

/** Where somebody goes on after a button beside a control was pressed: the button may be gone. */
function focusControl(button: Element) {
  const controls = ":is(input, textarea, select)";
  const inside = ":scope > :not(.rbf-label, .rbf-problem) :is(input, textarea, select, button)";
  button.closest(".rbf-field")?.querySelector<HTMLElement>(`:scope > ${controls}, ${inside}`)?.focus();
}

/** What every input says of its field. */
export function inputFacts(field: FieldProps, describedBy?: string) {
  const { id, node, isBare } = field;
  return {
    id,
    "aria-labelledby": isBare ? `${id}-label` : undefined,
    "aria-describedby": classes(describedBy, node.help && `${id}-help`, `${id}-problem`),
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
  const { node, value } = field;
  const current = currentOf(field) ?? null;
  return {
    ...inputFacts(field),
    dir: "auto" as const,
    value: current === null ? "" : textOf(current),
    placeholder: value === "" ? EMPTY : current === null && isOpen(node) ? BY_SERVICE : "",
    onInput: (event: TargetedEvent<HTMLInputElement | HTMLTextAreaElement>) => field.change(event.currentTarget.value),
  };
}

function Text(field: FieldProps) {
  return <input type="text" class="rbf-text" {...textFacts(field)} />;
}

function LongText(field: FieldProps) {
  return <textarea class="rbf-text rbf-long" {...textFacts(field)} spellcheck />;
}

/** How long a text is, in characters as the service counts them: an emoji is one, not two. */
export function Counter(field: FieldProps) {
  const { most, special } = field.node;
  if (!most && !special) return null;
  const length = [...String(currentOf(field) ?? "")].length;
  const amount = length.toLocaleString("en-GB");
  return (
    <span class={classes("rbf-caption rbf-counter", !!most && length > most && "rbf-counter-over")}>
      {most ? `${amount} / ${most.toLocaleString("en-GB")}` : `${amount} ${length === 1 ? "character" : "characters"}`}
    </span>
  );
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

interface NumberProps extends FieldProps {
  hasSlider?: boolean;
  placeholder?: string;
  describedBy?: string;
  /** What the input is called, where it has no label of its own. */
  label?: string;
  /** What the slider is called and says, where the label and the number alone do not do. */
  slider?: { label: string; words: string };
}

export function NumberRow({ hasSlider = true, placeholder, describedBy, label, slider, ...field }: NumberProps) {
  const { node, value, change } = field;
  const track = hasSlider ? findTrack(node) : null;
  const now = value === "" || value === null ? undefined : value;
  const [spelt, spell] = useSpelling(now, textOf, readNumber);
  const number = now ?? node.default;
  const isNumber = typeof number === "number";
  const set = (next: number) => {
    spell(numberText(next));
    change(tidy(next));
  };
  const step = (event: KeyboardEvent) => {
    const by = arrowStep(event);
    const from = number ?? track?.low ?? 0;
    if (!by || typeof from !== "number") return;
    event.preventDefault();
    set(stepFrom(node, from, by));
  };
  return (
    <div class={classes("rbf-number-row", track && "rbf-number-slid")}>
      {track && (
        <input
          type="range"
          class={classes("rbf-slider", !isNumber && "rbf-slider-open")}
          min={String(track.low)}
          max={String(track.high)}
          step={String(track.step)}
          value={String(isNumber ? number : track.low)}
          aria-labelledby={slider ? undefined : `${field.id}-label`}
          aria-label={slider?.label}
          aria-valuetext={slider?.words ?? (isNumber ? numberText(number) : "not set")}
          onInput={(event) => set(Number(event.currentTarget.value))}
        />
      )}
      <input
        type="text"
        {...inputFacts(field, describedBy)}
        aria-label={label}
        class={classes("rbf-number", emptyText(node) === BY_SERVICE && "rbf-number-open")}
        inputmode={node.kind === "whole" ? "numeric" : "decimal"}
        placeholder={placeholder ?? emptyText(node)}
        value={spelt}
        onInput={({ currentTarget }) => {
          spell(currentTarget.value);
          change(readNumber(currentTarget.value));
        }}
        onKeyDown={step}
      />
    </div>
  );
}

// Choices.

interface SegmentsProps extends FieldProps {
  /** What stands in a choice instead of its words, in a box of this class. */
  drawn?: { class: string; draw: (choice: Choice) => ComponentChildren };
}

/** A few choices beside each other. */
export function Segments({ drawn, ...field }: SegmentsProps) {
  const { node, id, change } = field;
  const current = currentOf(field);
  const choices = node.choices ?? [];
  const found = choices.findIndex((choice) => isSame(choice.value, current));
  const isPlain = found >= 0 || current === null || (current === undefined && !isOpen(node));
  return (
    <div class="rbf-choice">
      <div
        class={drawn ? `rbf-special-choices ${drawn.class}` : "rbf-segments"}
        role="radiogroup"
        aria-labelledby={`${id}-label`}
      >
        {choices.map((choice, index) => (
          <label key={index} class={drawn ? "rbf-special-choice" : "rbf-segment"} for={`${id}-${index}`}>
            <input
              type="radio"
              id={`${id}-${index}`}
              name={id}
              value={String(index)}
              checked={index === found}
              onChange={() => change(choice.value)}
            />
            {drawn ? drawn.draw(choice) : <span data-text={choice.label}>{choice.label}</span>}
          </label>
        ))}
      </div>
      <span class="rbf-caption rbf-choice-odd" hidden={isPlain}>
        {current === undefined ? BY_SERVICE : `Now: ${textOf(current)}`}
      </span>
    </div>
  );
}

function Select(field: FieldProps) {
  const { node, change } = field;
  const choices = node.choices ?? [];
  const current = currentOf(field);
  const found = choices.findIndex((choice) => isSame(choice.value, current));
  const isOdd = found < 0 && (current ?? null) !== null;
  const unset = emptyText(node);
  return (
    <select
      class="rbf-text"
      {...inputFacts(field)}
      value={found < 0 ? "" : String(found)}
      onChange={({ currentTarget: { value } }) => change(value ? choices[Number(value)].value : undefined)}
    >
      <option value="" hidden={found >= 0 && unset !== BY_SERVICE}>
        {isOdd ? `Now: ${textOf(current)}` : unset || "Choose …"}
      </option>
      {choices.map(({ label }, index) => (
        <option key={index} value={String(index)}>
          {label}
        </option>
      ))}
    </select>
  );
}

function Check(field: FieldProps) {
  const current = currentOf(field) ?? null;
  const isUnset = current === null && isOpen(field.node);
  return (
    <div class="rbf-check">
      <input
        type="checkbox"
        class="rbf-check-box"
        {...inputFacts(field)}
        checked={current === true}
        indeterminate={isUnset}
        onChange={(event) => field.change(event.currentTarget.checked)}
      />
      <label class="rbf-check-said" for={field.id} aria-hidden="true">
        {isUnset ? BY_SERVICE : current === true ? "On" : "Off"}
      </label>
    </div>
  );
}

/** What cannot be changed. One that is required is put there by `wholeObject`, or by the form. */
function Constant({ id, node }: FieldProps) {
  return (
    <span class="rbf-constant" id={id}>
      {textOf(node.value)}
    </span>
  );
}

Object.assign(CONTROLS, {
  text: { Input: Text },
  long: { Input: LongText, isWide: true, Lead: Counter },
  whole: { Input: NumberRow },
  real: { Input: NumberRow },
  choice: { Input: Segments, isGroup: true },
  select: { Input: Select },
  check: { Input: Check },
  json: { Input: Json, isWide: true },
  constant: { Input: Constant, isGroup: true },
} satisfies typeof CONTROLS);
