import { SelectField } from '../components/field.tsx'
import { type OfferedVersion, versionChoices } from './version-choices.ts'

interface VersionSelectProps {
  label: string
  hideLabel?: boolean
  versions: readonly OfferedVersion[]
  /** Empty for the default. */
  value: string
  onChange: (version: string) => void
  error?: string | null
}

export function VersionSelect({ versions, value, onChange, ...field }: VersionSelectProps) {
  return (
    <SelectField {...field} value={value} onChange={(event) => onChange(event.target.value)}>
      {versionChoices(versions).map((choice) => (
        <option key={choice.value} value={choice.isDefault ? '' : choice.value} disabled={choice.disabled}>
          {choice.label}
        </option>
      ))}
    </SelectField>
  )
}
