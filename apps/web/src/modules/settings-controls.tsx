import { Plus, X } from 'lucide-react'
import type { ReactNode } from 'react'
import { useState } from 'react'
import { Button, IconButton } from '../components/button.tsx'
import { SelectField, Switch, TextArea, TextField } from '../components/field.tsx'
import { freeName } from '../lib/names.ts'
import { isObject } from '../lib/settings-changes.ts'
import type { SettingsField } from '../lib/settings-fields.ts'
import { texts } from '../texts/index.ts'

const t = texts.runtimes

export interface Choice {
  readonly value: string
  readonly label: string
  readonly disabled?: boolean
}

export interface Common {
  label: string
  help: string | null
  error: string | null
}

export function TextControl({
  nullText,
  maxLength,
  value,
  onChange,
  ...common
}: Common & {
  /** Null when it must have a value. */
  nullText: string | null
  maxLength: number | null
  value: unknown
  onChange: (value: unknown) => void
}) {
  return (
    <TextField
      {...common}
      value={typeof value === 'string' ? value : ''}
      maxLength={maxLength ?? undefined}
      placeholder={nullText ?? undefined}
      onChange={(event) => onChange(event.target.value === '' && nullText !== null ? null : event.target.value)}
      mono
    />
  )
}

export function NumberControl({
  nullText,
  whole,
  min,
  max,
  value,
  onChange,
  ...common
}: Common & {
  nullText: string | null
  whole: boolean
  min: number | null
  max: number | null
  value: unknown
  onChange: (value: unknown) => void
}) {
  return (
    <TextField
      {...common}
      type="number"
      inputMode="numeric"
      step={whole ? 1 : 'any'}
      min={min ?? undefined}
      max={max ?? undefined}
      placeholder={nullText ?? undefined}
      value={typeof value === 'number' ? value : ''}
      onChange={(event) => onChange(event.target.value === '' ? null : event.target.valueAsNumber)}
      className="numbers"
    />
  )
}

/** Settings that belong together; one that may be null has a switch above them. */
export function GroupControl({
  field,
  value,
  onChange,
  label,
  help,
  children,
}: Common & {
  field: Extract<SettingsField, { kind: 'group' }>
  value: unknown
  onChange: (value: unknown) => void
  children: ReactNode
}) {
  return (
    <fieldset className="flex min-w-0 flex-col gap-4 rounded-lg border border-line p-4">
      <legend className={field.nullable ? 'sr-only' : '-ml-1 px-1 text-sm font-medium'}>{label}</legend>
      {field.nullable ? (
        <Switch
          label={label}
          help={help}
          checked={isObject(value)}
          onChange={(on) => onChange(on ? field.initial : null)}
        />
      ) : (
        help && <p className="-mt-1 text-sm text-ink-3">{help}</p>
      )}
      {(isObject(value) || !field.nullable) && children}
    </fieldset>
  )
}

/** Empty is "as it is": what is stored is never put into the page. */
export function SecretControl({
  isSet,
  nullable,
  maxLength,
  value,
  onChange,
  ...common
}: Common & {
  isSet: boolean
  nullable: boolean
  maxLength: number | null
  value: unknown
  onChange: (value: unknown) => void
}) {
  const removed = value === null && isSet
  return (
    <TextField
      {...common}
      help={isSet ? t.secretHelp : null}
      type="password"
      autoComplete="new-password"
      mono
      maxLength={maxLength ?? undefined}
      value={typeof value === 'string' ? value : ''}
      placeholder={removed ? t.secretRemoved : isSet ? t.secretSet : t.secretNone}
      onChange={(event) => onChange(event.target.value === '' ? undefined : event.target.value)}
      action={
        nullable &&
        isSet && (
          <Button onClick={() => onChange(removed ? undefined : null)}>
            {removed ? t.secretKeep : t.secretRemove}
            <span className="sr-only"> {common.label}</span>
          </Button>
        )
      }
    />
  )
}

export function ChoiceControl({
  choices,
  nullText,
  value,
  onChange,
  ...common
}: Common & {
  choices: readonly Choice[]
  /** Null when it must have a value. */
  nullText: string | null
  value: unknown
  onChange: (value: unknown) => void
}) {
  const known = value === null || value === undefined || choices.some((choice) => choice.value === value)
  return (
    <SelectField
      {...common}
      value={typeof value === 'string' ? value : ''}
      onChange={(event) => onChange(event.target.value === '' ? null : event.target.value)}
    >
      {nullText !== null && <option value="">{nullText}</option>}
      {!known && <option value={String(value)}>{String(value)}</option>}
      {choices.map((choice) => (
        <option key={choice.value} value={choice.value} disabled={choice.disabled && choice.value !== value}>
          {choice.label}
        </option>
      ))}
    </SelectField>
  )
}

export function WordsControl({
  nullable,
  value,
  onChange,
  ...common
}: Common & { nullable: boolean; value: unknown; onChange: (value: unknown) => void }) {
  const words = Array.isArray(value) ? value.map(String) : null
  if (nullable && words === null) {
    return (
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <span className="text-sm font-medium">{common.label}</span>
        <span className="text-ink-2">{t.presetCommand}</span>
        <Button size="sm" onClick={() => onChange([''])}>
          {texts.common.edit}
        </Button>
        {common.error && <p className="w-full text-sm text-bad">{common.error}</p>}
      </div>
    )
  }
  return (
    <div className="flex flex-col items-start gap-2">
      <TextArea
        {...common}
        help={nullable ? t.onePerLine : (common.help ?? t.onePerLine)}
        mono
        rows={Math.min(8, Math.max(2, (words ?? []).length))}
        value={(words ?? []).join('\n')}
        onChange={(event) => onChange(event.target.value === '' ? [] : event.target.value.split('\n'))}
        className="w-full"
      />
      {nullable && (
        <Button size="sm" onClick={() => onChange(null)}>
          {t.takeDefault}
        </Button>
      )}
    </div>
  )
}

export function MapControl({
  value,
  onChange,
  ...common
}: Common & { value: Readonly<Record<string, unknown>>; onChange: (value: unknown) => void }) {
  const entries = Object.entries(value)
  const put = (next: readonly (readonly [string, unknown])[]) => onChange(Object.fromEntries(next))
  return (
    <fieldset className="flex min-w-0 flex-col items-start gap-2">
      <legend className="mb-1 text-sm font-medium">{common.label}</legend>
      {entries.map(([name, text], index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the name is what is being typed
        <div key={index} className="flex w-full max-w-xl items-end gap-2">
          <TextField
            label={t.key}
            hideLabel
            value={name}
            mono
            className="flex-1"
            onChange={(event) => put(entries.map((entry, at) => (at === index ? [event.target.value, text] : entry)))}
          />
          <TextField
            label={t.value}
            hideLabel
            value={String(text)}
            mono
            className="flex-1"
            onChange={(event) => put(entries.map((entry, at) => (at === index ? [name, event.target.value] : entry)))}
          />
          <IconButton
            icon={X}
            label={t.removeEntry(name)}
            onClick={() => put(entries.filter((_, at) => at !== index))}
          />
        </div>
      ))}
      <Button
        size="sm"
        icon={Plus}
        onClick={() =>
          put([
            ...entries,
            [
              freeName(
                'name',
                entries.map(([name]) => name),
              ),
              '',
            ],
          ])
        }
      >
        {t.addEntry}
      </Button>
      {common.error && <p className="text-sm text-bad">{common.error}</p>}
      {common.help && <p className="text-sm text-ink-3">{common.help}</p>}
    </fieldset>
  )
}

export function JsonControl({
  value,
  onChange,
  ...common
}: Common & { value: unknown; onChange: (value: unknown) => void }) {
  const [text, setText] = useState(() => JSON.stringify(value ?? null, null, 2))
  const [invalid, setInvalid] = useState(false)
  return (
    <TextArea
      {...common}
      error={invalid ? t.invalidJson : common.error}
      mono
      rows={4}
      value={text}
      onChange={(event) => {
        setText(event.target.value)
        try {
          onChange(JSON.parse(event.target.value))
          setInvalid(false)
        } catch {
          setInvalid(true)
        }
      }}
    />
  )
}
