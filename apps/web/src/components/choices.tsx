import { type ReactNode, useId } from 'react'

interface ChoicesProps<Value extends string> {
  label: string
  options: readonly { readonly value: Value; readonly label: string; readonly help?: ReactNode }[]
  value: Value
  onChange: (value: Value) => void
}

/** One of a few that need a sentence each. */
export function Choices<Value extends string>({ label, options, value, onChange }: ChoicesProps<Value>) {
  const name = useId()
  return (
    <fieldset>
      <legend className="mb-1 text-sm font-medium">{label}</legend>
      <div className="flex flex-col gap-2">
        {options.map((option) => (
          <label key={option.value} className="flex items-start gap-2">
            <input
              type="radio"
              name={name}
              checked={value === option.value}
              onChange={() => onChange(option.value)}
              className="mt-1 size-4 shrink-0 accent-(--accent)"
            />
            <span>
              <span className="block font-medium">{option.label}</span>
              {option.help && <span className="block text-sm text-ink-2">{option.help}</span>}
            </span>
          </label>
        ))}
      </div>
    </fieldset>
  )
}
