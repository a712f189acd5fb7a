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

/** How a value is edited, by the name of what is special about it, else by its kind. */
export const CONTROLS: Record<string, ComponentType<FieldProps>> = {};

// Segments: so many stand beside each other, with so many letters each and in all.
const SEGMENTS = 5;
const SEGMENT_LETTERS = 18;
const SEGMENTS_LETTERS = 48;

export function Field(props: FieldProps) {
  const { special, kind } = props.node;
  const Control = CONTROLS[special ?? ""] ?? CONTROLS[kind] ?? CONTROLS.json;
  return <Control {...props} />;
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

interface FrameProps {
  field: FieldProps;
  /** Stands at the end of the label's line. */
  lead?: ComponentChildren;
  /** Has several inputs, none of which is named by the label alone. */
  isGroup?: boolean;
  isWide?: boolean;
  children: ComponentChildren;
}

export function Frame({ field, lead, isGroup, isWide, children }: FrameProps) {
  const { node, id, value, change, path, isNested, isBare } = field;
  if (isBare) return <>{children}</>;
  const own = ownProblems(field);
  const words = own.map((problem) => problem.words).join(" ");
  const nearest = own.find(({ at }) => !at.length)?.nearest;
  const Label = isGroup ? "span" : "label";
  const isDefaultOpen = node.default === undefined || node.default === null;
  const set = (next: unknown, button: Element) => {
    change(next);
    focusControl(button);
  };
  return (
    <div class={classes("rbf-field", isWide && "rbf-wide", words && "rbf-wrong")} data-field={path.join(".")}>
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
        <span class="rbf-label-tools">{lead}</span>
      </div>
      {children}
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

function Text(props: FieldProps) {
  if (!props.node.long)
    return (
      <Frame field={props}>
        <input type="text" class="rbf-text" {...textFacts(props)} />
      </Frame>
    );
  return (
    <Frame field={props} isWide lead={!!props.node.most && <Counter field={props} />}>
      <textarea class="rbf-text rbf-long" {...textFacts(props)} spellcheck />
    </Frame>
  );
}

/** How long a text is, in characters as the service counts them: an emoji is one, not two. */
export function Counter({ field }: { field: FieldProps }) {
  const { most } = field.node;
  const length = [...String(currentOf(field) ?? "")].length;
  const amount = length.toLocaleString("en-GB");
  return (
    <span class={classes("rbf-caption rbf-counter", !!most && length > most && "rbf-counter-over")}>
      {most ? `${amount} / ${most.toLocaleString("en-GB")}` : `${amount} ${length === 1 ? "character" : "characters"}`}
    </span>
  );
}

/** A value as JSON text: the kernel reads it, and says what is wrong with it. */
function Json(props: FieldProps) {
  const { node, change } = props;
  return (
    <Frame field={props} isWide>
      <textarea
        class="rbf-text rbf-long rbf-json"
        {...textFacts(props)}
        dir="ltr"
        autocapitalize="off"
        value={props.value ?? ""}
        placeholder={emptyText(node)}
        onInput={({ currentTarget: { value } }) => change(value.trim() ? value : undefined)}
      />
    </Frame>
  );
}

// Numbers.

interface NumberProps {
  field: FieldProps;
  hasSlider?: boolean;
  placeholder?: string;
  describedBy?: string;
  /** What the input is called, where it has no label of its own. */
  label?: string;
  /** What the slider is called and says, where the label and the number alone do not do. */
  slider?: { label: string; words: string };
}

export function NumberRow({ field, hasSlider = true, placeholder, describedBy, label, slider }: NumberProps) {
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

function Number_(props: FieldProps) {
  return (
    <Frame field={props}>
      <NumberRow field={props} />
    </Frame>
  );
}

// Choices.

interface SegmentsProps {
  field: FieldProps;
  /** What stands in a choice instead of its words, in a box of this class. */
  drawn?: { class: string; draw: (choice: Choice) => ComponentChildren };
}

/** A few choices beside each other. */
export function Segments({ field, drawn }: SegmentsProps) {
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

function ChoiceField(props: FieldProps) {
  const { node, change } = props;
  const choices = node.choices ?? [];
  const letters = choices.map(({ label }) => label.length);
  const total = letters.reduce((sum, length) => sum + length, 0);
  if (letters.length <= SEGMENTS && Math.max(0, ...letters) <= SEGMENT_LETTERS && total <= SEGMENTS_LETTERS)
    return (
      <Frame field={props} isGroup>
        <Segments field={props} />
      </Frame>
    );
  const current = currentOf(props);
  const found = choices.findIndex((choice) => isSame(choice.value, current));
  const isOdd = found < 0 && (current ?? null) !== null;
  const unset = emptyText(node);
  return (
    <Frame field={props}>
      <select
        class="rbf-text"
        {...inputFacts(props)}
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
    </Frame>
  );
}

function Check(props: FieldProps) {
  const { node, change } = props;
  const current = currentOf(props) ?? null;
  const isUnset = current === null && isOpen(node);
  return (
    <Frame field={props}>
      <div class="rbf-check">
        <input
          type="checkbox"
          class="rbf-check-box"
          {...inputFacts(props)}
          checked={current === true}
          indeterminate={isUnset}
          onChange={(event) => change(event.currentTarget.checked)}
        />
        <label class="rbf-check-said" for={props.id} aria-hidden="true">
          {isUnset ? BY_SERVICE : current === true ? "On" : "Off"}
        </label>
      </div>
    </Frame>
  );
}

/** What cannot be changed. One that is required is put there by `wholeObject`, or by the form. */
function Constant(props: FieldProps) {
  return (
    <Frame field={props} isGroup>
      <span class="rbf-constant" id={props.id}>
        {textOf(props.node.value)}
      </span>
    </Frame>
  );
}

Object.assign(CONTROLS, {
  text: Text,
  whole: Number_,
  real: Number_,
  choice: ChoiceField,
  check: Check,
  json: Json,
  constant: Constant,
});
