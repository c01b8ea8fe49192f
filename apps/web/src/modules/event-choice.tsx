import { Check } from '../components/field.tsx'

interface EventChoiceProps<Event extends string> {
  t: {
    readonly events: string
    readonly eventNames: Readonly<Record<Event, string>>
    readonly chooseEvent: string
  }
  offered: readonly Event[]
  chosen: readonly string[]
  onChange: (chosen: readonly string[]) => void
  /** None is chosen, and the form was sent. */
  missing: boolean
  /** Programs are told the names of events, people what they mean. */
  withNames?: boolean
}

/** Which events somebody is told of. */
export function EventChoice<Event extends string>({
  t,
  offered,
  chosen,
  onChange,
  missing,
  withNames = false,
}: EventChoiceProps<Event>) {
  return (
    <fieldset className="flex flex-col gap-1.5">
      <legend className="mb-1 text-sm font-medium">{t.events}</legend>
      <div className="grid gap-x-6 gap-y-1.5 sm:grid-cols-2">
        {offered.map((event) => (
          <Check
            key={event}
            label={t.eventNames[event]}
            {...(withNames && { help: <code>{event}</code> })}
            checked={chosen.includes(event)}
            onChange={(checked) => onChange(checked ? [...chosen, event] : chosen.filter((other) => other !== event))}
          />
        ))}
      </div>
      {missing && <p className="text-sm text-bad">{t.chooseEvent}</p>}
    </fieldset>
  )
}
