import type { QueryPlan } from '../../api/database-browser.ts'
import { formatCount } from '../../lib/format.ts'
import { texts } from '../../texts/index.ts'

const t = texts.browser.plan

/** The steps of a statement, those that feed another below it. */
export function PlanTree({ plan }: { plan: QueryPlan }) {
  return (
    <ul aria-label={t.label} className="overflow-x-auto border-t border-line p-3 text-sm">
      <Step step={plan} />
    </ul>
  )
}

function Step({ step }: { step: QueryPlan }) {
  const numbers = [
    step.rows === null ? null : t.rows(formatCount(Math.round(step.rows))),
    step.cost === null ? null : t.cost(String(step.cost)),
    step.milliseconds === null ? null : t.milliseconds(String(step.milliseconds)),
  ].filter((one) => one !== null)
  return (
    <li>
      <p className="font-medium">
        {step.label} <span className="numbers font-normal text-ink-3">{numbers.join(' · ')}</span>
      </p>
      {step.details.length > 0 && (
        <p className="font-mono text-xs break-words whitespace-pre-wrap text-ink-2">{step.details.join('\n')}</p>
      )}
      {step.children.length > 0 && (
        <ul className="mt-1 ml-1.5 flex flex-col gap-1 border-l border-line pl-3">
          {step.children.map((child, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: steps have no names of their own
            <Step key={at} step={child} />
          ))}
        </ul>
      )}
    </li>
  )
}
