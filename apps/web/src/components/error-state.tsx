import type { Problem } from '@stackquay/contract'
import { CircleAlert, RotateCw } from 'lucide-react'
import { problemFrom } from '../api/client.ts'
import { errorsElsewhere } from '../lib/field-errors.ts'
import { texts } from '../texts/index.ts'
import { Button } from './button.tsx'

/** A whole part of the page that could not be read. */
export function ErrorState({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  return (
    <div className="flex flex-col items-start gap-3 p-4">
      <ErrorNote error={error} />
      {onRetry && (
        <Button icon={RotateCw} onClick={onRetry}>
          {texts.common.retry}
        </Button>
      )}
    </div>
  )
}

/** A problem in its own words: what is true, and what to do. */
export function ErrorNote({ error, hideErrors }: { error: unknown; hideErrors?: readonly string[] }) {
  return <ProblemNote problem={problemFrom(error)} hideErrors={hideErrors} />
}

const errorLists: readonly string[] = ['validation_failed', 'manifest_invalid']

export function ProblemNote({ problem, hideErrors = [] }: { problem: Problem; hideErrors?: readonly string[] }) {
  const errors = errorsElsewhere(problem.errors, hideErrors)
  // With one mistake the sentence and the list would say the same.
  const saidBelow = errors.some((error) => problem.detail.includes(error.detail))
  const allShownAtFields = problem.errors !== undefined && problem.errors.length > 0 && errors.length === 0
  // Their advice is where in the answer the mistakes stand; here they are listed.
  const pointsAtErrors = errors.length > 0 && errorLists.includes(problem.code)
  return (
    <div role="alert" className="flex w-full min-w-0 gap-2.5 rounded-lg border border-bad/30 bg-bad-soft px-3 py-2.5">
      <CircleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-bad" />
      <div className="min-w-0 flex-1">
        <p className="font-medium text-ink">{allShownAtFields ? texts.errors.seeFields : problem.title}</p>
        {!allShownAtFields && !saidBelow && problem.detail !== problem.title && (
          <p className="break-words whitespace-pre-line text-ink-2">{problem.detail}</p>
        )}
        {errors.length > 0 && (
          <ul className="mt-1 list-inside list-disc text-ink-2">
            {errors.map((error) => (
              <li key={`${error.pointer}${error.line ?? ''}${error.detail}`} className="break-words">
                {error.line === undefined ? (
                  error.pointer !== '' && <code className="mr-1.5 text-ink">{error.pointer}</code>
                ) : (
                  <span className="numbers mr-1.5 text-ink">
                    {texts.errors.lineAndColumn(error.line, error.column)}:
                  </span>
                )}
                {error.detail}
              </li>
            ))}
          </ul>
        )}
        {problem.hint && !allShownAtFields && !pointsAtErrors && <p className="mt-1 text-ink-2">{problem.hint}</p>}
        {problem.status >= 500 && problem.requestId && (
          <p className="mt-1 text-xs text-ink-2">
            <code>{texts.errors.requestId(problem.requestId)}</code>
          </p>
        )}
      </div>
    </div>
  )
}
