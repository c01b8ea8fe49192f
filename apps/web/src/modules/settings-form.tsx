import type { FieldError } from '@stackquay/contract'
import { Plus, X } from 'lucide-react'
import { useState } from 'react'
import { Button, IconButton } from '../components/button.tsx'
import { SelectField, Switch, TextArea, TextField } from '../components/field.tsx'
import { errorsAt, pointerPart } from '../lib/field-errors.ts'
import { freeName } from '../lib/names.ts'
import { isObject } from '../lib/settings-draft.ts'
import type { SettingsField } from '../lib/settings-fields.ts'
import { texts } from '../texts/index.ts'

const t = texts.runtimes
export type SettingsValue = Readonly<Record<string, unknown>>

export interface Choice {
  readonly value: string
  readonly label: string
  readonly disabled?: boolean
}

interface SettingsFormProps {
  fields: readonly SettingsField[]
  value: SettingsValue
  onChange: (value: SettingsValue) => void
  /** JSON pointer of this object in the body that is sent: `/node`. */
  pointer: string
  errors: readonly FieldError[] | undefined
  /** Choices that the catalogue knows better than the schema: versions with their state, presets with their labels. */
  choices?: Readonly<Record<string, readonly Choice[]>>
  /** What a setting without a value means here: a runtime takes its preset's. */
  nullText?: string
  /** Where these fields stand when they are part of a group: `external.`. */
  within?: string
}

/** A form drawn from a settings schema. */
export function SettingsForm({
  fields,
  value,
  onChange,
  pointer,
  errors,
  choices = {},
  nullText = t.nullValue,
  within = '',
}: SettingsFormProps) {
  const shown = fields.filter((field) => !field.readOnly || (value[field.key] ?? null) !== null)
  return (
    <div className="grid grid-cols-[repeat(auto-fill,minmax(min(100%,15rem),1fr))] gap-x-6 gap-y-4">
      {shown.map((field) => {
        const control = (
          <Control
            key={field.key}
            field={field}
            value={value[field.key]}
            onChange={(next) => onChange({ ...value, [field.key]: next })}
            pointer={`${pointer}/${pointerPart(field.key)}`}
            errors={errors}
            choices={choices[field.key]}
            nullText={nullText}
            within={within}
            isSet={field.kind === 'secret' && value[field.presence] === true}
          />
        )
        return field.kind === 'words' || field.kind === 'map' || field.kind === 'group' || field.kind === 'json' ? (
          <div key={field.key} className="col-span-full min-w-0">
            {control}
          </div>
        ) : (
          control
        )
      })}
    </div>
  )
}

interface ControlProps {
  field: SettingsField
  value: unknown
  onChange: (value: unknown) => void
  pointer: string
  errors: readonly FieldError[] | undefined
  choices: readonly Choice[] | undefined
  nullText: string
  within: string
  /** Whether a secret has a value that is not shown. */
  isSet: boolean
}

function Control({ field, value, onChange, pointer, errors, choices, nullText, within, isSet }: ControlProps) {
  const label = texts.settingLabels[field.key] ?? field.label
  const place = `${within}${field.key}`
  const refused = field.kind === 'group' ? null : errorsAt(errors, pointer)
  const common = {
    label,
    help: texts.settingHelp[place] ?? field.help,
    // Of what was never filled in, the service can only say that it is not there.
    error: refused !== null && (value === undefined || value === '') ? t.fillIn : refused,
  }
  if (field.readOnly) {
    return (
      <TextField
        {...common}
        help={null}
        value={value === undefined || value === null ? '–' : String(value)}
        readOnly
        mono
      />
    )
  }
  if (choices !== undefined)
    return (
      <ChoiceControl
        {...common}
        choices={choices}
        nullText={field.nullable ? nullText : null}
        value={value}
        onChange={onChange}
      />
    )
  switch (field.kind) {
    case 'flag':
      return <Switch {...common} checked={value === true} onChange={onChange} className="self-start" />
    case 'choice':
      return (
        <ChoiceControl
          {...common}
          choices={field.options.map((option) => ({ value: option, label: option }))}
          nullText={field.nullable ? nullText : null}
          value={value}
          onChange={onChange}
        />
      )
    case 'text':
      return (
        <TextField
          {...common}
          value={typeof value === 'string' ? value : ''}
          maxLength={field.maxLength ?? undefined}
          placeholder={field.nullable ? nullText : undefined}
          onChange={(event) => onChange(event.target.value === '' && field.nullable ? null : event.target.value)}
          mono
        />
      )
    case 'secret':
      return (
        <SecretControl
          {...common}
          isSet={isSet}
          nullable={field.nullable}
          maxLength={field.maxLength}
          value={value}
          onChange={onChange}
        />
      )
    case 'number':
      return (
        <TextField
          {...common}
          type="number"
          inputMode="numeric"
          step={field.whole ? 1 : 'any'}
          min={field.min ?? undefined}
          max={field.max ?? undefined}
          placeholder={field.nullable ? nullText : undefined}
          value={typeof value === 'number' ? value : ''}
          onChange={(event) => onChange(event.target.value === '' ? null : event.target.valueAsNumber)}
          className="numbers"
        />
      )
    case 'words':
      return <WordsControl {...common} nullable={field.nullable} value={value} onChange={onChange} />
    case 'map':
      return <MapControl {...common} value={isObject(value) ? value : {}} onChange={onChange} />
    case 'group':
      return (
        <fieldset className="flex min-w-0 flex-col gap-4 rounded-lg border border-line p-4">
          <legend className={field.nullable ? 'sr-only' : '-ml-1 px-1 text-sm font-medium'}>{label}</legend>
          {field.nullable ? (
            <Switch
              label={label}
              help={common.help}
              checked={isObject(value)}
              onChange={(on) => onChange(on ? field.initial : null)}
            />
          ) : (
            common.help && <p className="-mt-1 text-sm text-ink-3">{common.help}</p>
          )}
          {(isObject(value) || !field.nullable) && (
            <SettingsForm
              fields={field.fields}
              value={isObject(value) ? value : {}}
              onChange={onChange}
              pointer={pointer}
              errors={errors}
              nullText={nullText}
              within={`${place}.`}
            />
          )}
        </fieldset>
      )
    case 'json':
      return <JsonControl {...common} value={value} onChange={onChange} />
    default:
      return field satisfies never
  }
}

interface Common {
  label: string
  help: string | null
  error: string | null
}

/** Empty is "as it is": what is stored is never put into the page. */
function SecretControl({
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

function ChoiceControl({
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

function WordsControl({
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
        help={t.onePerLine}
        mono
        rows={Math.min(8, Math.max(2, (words ?? []).length))}
        value={(words ?? []).join('\n')}
        onChange={(event) => onChange(event.target.value.split('\n'))}
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

function MapControl({
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

function JsonControl({ value, onChange, ...common }: Common & { value: unknown; onChange: (value: unknown) => void }) {
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
