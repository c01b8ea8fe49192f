import type { FieldError } from '@stackquay/contract'
import { Switch, TextField } from '../components/field.tsx'
import { errorsAt, pointerPart } from '../lib/field-errors.ts'
import { isObject } from '../lib/settings-changes.ts'
import type { SettingsField } from '../lib/settings-fields.ts'
import { texts } from '../texts/index.ts'
import {
  type Choice,
  ChoiceControl,
  GroupControl,
  JsonControl,
  MapControl,
  NumberControl,
  SecretControl,
  TextControl,
  WordsControl,
} from './settings-controls.tsx'

const t = texts.runtimes

export type SettingsValue = Readonly<Record<string, unknown>>

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
  const edited = { ...common, value, onChange }
  const nothing = field.nullable ? nullText : null
  if (field.readOnly) {
    const shown = value === undefined || value === null ? '–' : String(value)
    return <TextField {...common} help={null} value={shown} readOnly mono />
  }
  if (choices !== undefined) return <ChoiceControl {...edited} choices={choices} nullText={nothing} />
  switch (field.kind) {
    case 'flag':
      return <Switch {...common} checked={value === true} onChange={onChange} className="self-start" />
    case 'choice': {
      const options = field.options.map((option) => ({ value: option, label: option }))
      return <ChoiceControl {...edited} choices={options} nullText={nothing} />
    }
    case 'text':
      return <TextControl {...edited} nullText={nothing} maxLength={field.maxLength} />
    case 'secret':
      return <SecretControl {...edited} isSet={isSet} nullable={field.nullable} maxLength={field.maxLength} />
    case 'number':
      return <NumberControl {...edited} nullText={nothing} whole={field.whole} min={field.min} max={field.max} />
    case 'words':
      return <WordsControl {...edited} nullable={field.nullable} />
    case 'map':
      return <MapControl {...edited} value={isObject(value) ? value : {}} />
    case 'group':
      return (
        <GroupControl {...edited} field={field}>
          <SettingsForm
            fields={field.fields}
            value={isObject(value) ? value : {}}
            onChange={onChange}
            pointer={pointer}
            errors={errors}
            nullText={nullText}
            within={`${place}.`}
          />
        </GroupControl>
      )
    case 'json':
      return <JsonControl {...edited} />
    default:
      return field satisfies never
  }
}
