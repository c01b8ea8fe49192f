import { useState } from 'react'

/** A choice that this browser remembers; the first option unless it was changed. */
export function useStored<Value extends string>(
  key: string,
  options: readonly [Value, ...Value[]],
): [Value, (value: Value) => void] {
  const [value, setValue] = useState(() => {
    const stored = read(key)
    return options.find((option) => option === stored) ?? options[0]
  })
  return [
    value,
    (next) => {
      setValue(next)
      try {
        localStorage.setItem(key, next)
      } catch {
        // Storage may be closed to us: then the choice holds for this visit.
      }
    },
  ]
}

/** A switch that this browser remembers. */
export function useStoredFlag(key: string, initial: boolean): [boolean, (on: boolean) => void] {
  const [value, setValue] = useStored<'yes' | 'no'>(key, initial ? ['yes', 'no'] : ['no', 'yes'])
  return [value === 'yes', (on) => setValue(on ? 'yes' : 'no')]
}

function read(key: string): string | null {
  try {
    return localStorage.getItem(key)
  } catch {
    return null
  }
}
