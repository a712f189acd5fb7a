/** Controls for values inside of values: lists, objects, and a value of one of several kinds. */

import type { ComponentType } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { CONTROLS, currentOf, Field, type FieldProps } from "./fields.tsx";
import { classes, Quiet, SignButton } from "./ui.tsx";
import {
  fits,
  formName,
  hollowOf,
  isObject,
  isSame,
  type Node,
  problemsAt,
  startOf,
  textOf,
  wholeObject,
} from "./values.ts";

/** A list as that sees it with which entries are added. */
export interface Entries {
  values: any[];
  append: (values: any[]) => void;
  say: (words: string) => void;
}

interface ListProps extends FieldProps {
  /** Where entries are added, instead of a button that adds an empty one; and what an entry is called. */
  adder?: { Add: ComponentType<{ field: FieldProps; list: Entries }>; item: string };
}

function amountWords({ least = 0, most = Infinity }: Node) {
  if (most === Infinity) return least ? `${least} at least.` : "";
  return least === most ? `Exactly ${least}.` : least ? `${least} to ${most}.` : `${most} at most.`;
}

/** What takes the focus inside of an element. */
function stopsIn(element: Element | undefined): HTMLElement[] {
  const all = element?.querySelectorAll<HTMLElement>("input, textarea, select, button, summary") ?? [];
  return [...all].filter((stop) => stop.offsetParent !== null);
}

/** A list whose entries keep their places while values move through them, so that every path stays true. */
export function List({ adder, ...field }: ListProps) {
  const { node, link, path, id, change } = field;
  const current = currentOf(field);
  const values: any[] = Array.isArray(current) ? current : [];
  const item = node.item as Node;
  const most = node.most ?? Infinity;
  const amount = amountWords(node);
  const [note, say] = useState(amount);
  const root = useRef<HTMLDivElement>(null);
  /** What takes the focus once the entries are drawn where they are now. */
  const next = useRef<((rows: Element[]) => HTMLElement | undefined | null) | null>(null);
  useLayoutEffect(() => {
    if (!next.current || !root.current) return;
    next.current([...root.current.querySelectorAll(":scope > .rbf-items > .rbf-item")])?.focus();
    next.current = null;
  });
  const nameOf = (at: number) => (adder && values[at]) || `${at + 1}.`;
  const send = (now: any[], words = amount) => {
    say(words);
    // A list that is required and was emptied is missing.
    change(now.length || !node.required ? now : undefined);
  };
  const add = () => {
    next.current = (rows) => stopsIn(rows[values.length])[0];
    send([...values, startOf(item)]);
  };
  const append = (more: any[]) => {
    const added = more.slice(0, Math.max(0, most - values.length));
    const left = more.length - added.length;
    const words = added.length === 1 ? `Added ${added[0]}.` : `Added ${added.length}.`;
    next.current = ([row]) => {
      // The list alone scrolls, and never the page: somebody may be about to press something there.
      row?.parentElement?.scrollTo(0, row.parentElement.scrollHeight);
      return null;
    };
    send([...values, ...added], left ? `At most ${most}; ${left} left out.` : words);
  };
  const remove = (at: number) => {
    const left = values.length - 1;
    next.current = (rows) =>
      rows.length
        ? (rows[Math.min(at, left - 1)].querySelector(":scope > .rbf-item-tools > :last-child") as HTMLElement)
        : root.current?.querySelector<HTMLElement>(".rbf-list-add :is(input, button)");
    send(
      values.filter((_, index) => index !== at),
      `Removed ${nameOf(at)} ${left} left.`,
    );
  };
  const move = (from: number, to: number) => {
    if (to < 0 || to >= values.length) return;
    const rows = root.current?.querySelectorAll(":scope > .rbf-items > .rbf-item") ?? [];
    const stop = stopsIn(rows[from]).indexOf(document.activeElement as HTMLElement);
    next.current = (drawn) => stopsIn(drawn[to])[Math.max(stop, 0)];
    const now = [...values];
    [now[from], now[to]] = [now[to], now[from]];
    send(now, `${nameOf(from)} is now ${to + 1} of ${now.length}.`);
  };
  const adding = (
    <div class={adder ? "rbf-list-add" : "rbf-list-add rbf-row"}>
      {adder ? (
        <adder.Add field={field} list={{ values, append, say }} />
      ) : (
        <Quiet act={add} isOff={values.length >= most} aria-label={`Add to ${node.label}`}>
          Add
        </Quiet>
      )}
      <span class="rbf-caption rbf-list-note" role="status">
        {note}
      </span>
    </div>
  );
  return (
    <div class={classes("rbf-nested", adder && "rbf-sizes")} role="group" aria-labelledby={`${id}-label`} ref={root}>
      <p class="rbf-caption rbf-nested-odd" hidden={Array.isArray(current) || (current ?? null) === null}>
        Now: {textOf(current)}
      </p>
      {adder && adding}
      <ol class="rbf-items" role="list" hidden={!values.length}>
        {values.map((value, at) => (
          <li key={at} class="rbf-item">
            <Field
              node={{
                ...item,
                name: String(at),
                label: adder ? `${adder.item} ${at + 1}` : `${at + 1}.`,
                required: false,
                entry: true,
                default: undefined,
                beside: node.beside,
              }}
              path={[...path, at]}
              link={link}
              id={`${id}-${at}`}
              value={value}
              problems={problemsAt(field.problems, at)}
              change={(now) => change(values.map((old, index) => (index === at ? (now ?? hollowOf(item)) : old)))}
              isNested
            />
            <div class="rbf-item-tools">
              <SignButton sign="up" says={`Move ${nameOf(at)} up`} isOff={at === 0} act={() => move(at, at - 1)} />
              <SignButton
                sign="down"
                says={`Move ${nameOf(at)} down`}
                isOff={at === values.length - 1}
                act={() => move(at, at + 1)}
              />
              <SignButton sign="remove" says={`Remove ${nameOf(at)}`} act={() => remove(at)} />
            </div>
          </li>
        ))}
      </ol>
      {!adder && adding}
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
          // Nobody need fill in what cannot be changed.
          node={inner.kind === "constant" ? { ...inner, required: false } : inner}
          path={[...path, inner.name]}
          link={link}
          id={`${id}-${inner.name}`}
          value={values[inner.name]}
          problems={problemsAt(field.problems, inner.name)}
          change={(value) => change(wholeObject(node, { ...known(), [inner.name]: value }))}
          isNested
        />
      ))}
    </div>
  );
}

/** One of several kinds, chosen by hand or by what the value is. */
function Either(field: FieldProps) {
  const { node, value, change, id } = field;
  const forms = node.forms ?? [];
  const [chosen, choose] = useState(-1);
  const sent = useRef<unknown>(undefined);
  const current = currentOf(field);
  // Half a number is not a number yet: what was typed stays with the kind in which it was typed.
  const isKept = chosen >= 0 && (current === undefined || isSame(sent.current, value) || fits(forms[chosen], current));
  const found = forms.findIndex((form) => current !== undefined && fits(form, current));
  const at = isKept ? chosen : Math.max(found, 0);
  const send = (next: unknown, index = at) => {
    sent.current = next;
    choose(index);
    change(next);
  };
  const turn = (index: number) =>
    send(value === undefined || !fits(forms[index], value) ? startOf(forms[index]) : value, index);
  const inner: Node = {
    ...forms[at],
    name: node.name,
    label: node.label,
    required: node.required ?? false,
    entry: node.entry ?? false,
    default: node.default !== undefined && fits(forms[at], node.default) ? node.default : forms[at].default,
  };
  return (
    <div class="rbf-either" role="group" aria-labelledby={`${id}-label`}>
      <select
        class="rbf-either-kind"
        aria-label={`Kind of ${node.label}`}
        value={String(at)}
        onChange={(event) => turn(Number(event.currentTarget.value))}
      >
        {forms.map((form, index) => (
          <option key={index} value={String(index)}>
            {formName(form, node)}
          </option>
        ))}
      </select>
      <Field key={at} {...field} node={inner} change={send} isBare />
    </div>
  );
}

Object.assign(CONTROLS, {
  list: { Input: List, isGroup: true, isWide: true },
  object: { Input: ObjectFields, isGroup: true, isWide: true },
  either: { Input: Either, isGroup: true, isWide: true },
} satisfies typeof CONTROLS);
