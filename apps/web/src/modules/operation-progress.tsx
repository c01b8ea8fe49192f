import type { OperationRecord, OperationStep, Problem } from '@stackquay/contract'
import { ChevronRight } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { cancelOperation } from '../api/changes.ts'
import { Button } from '../components/button.tsx'
import { cx } from '../components/class-names.ts'
import { ProblemNote } from '../components/error-state.tsx'
import { ScrollBox } from '../components/scroll-box.tsx'
import { toastDone, toastProblem } from '../components/toast.tsx'
import { useNow } from '../components/use-now.ts'
import { plainText } from '../lib/ansi.ts'
import { formatDuration, formatElapsed, secondsSince } from '../lib/format.ts'
import { isOver } from '../lib/live.ts'
import { texts } from '../texts/index.ts'
import { StepStateIcon } from './state-pill.tsx'
import { useMay } from './use-may.ts'

const t = texts.operations

/** Every step with its state, time and output; the running one is open and shows its last lines as they come. */
export function OperationSteps({ operation }: { operation: OperationRecord }) {
  if (operation.steps.length === 0) {
    return isOver(operation) ? null : <p className="text-ink-2">{t.noSteps}</p>
  }
  return (
    <ol aria-label={t.steps} className="flex flex-col">
      {operation.steps.map((step) => (
        <Step key={step.id} step={step} />
      ))}
    </ol>
  )
}

function Step({ step }: { step: OperationStep }) {
  const [chosen, setChosen] = useState<boolean | null>(null)
  const hasOutput = step.output.length > 0
  const open = hasOutput && (chosen ?? (step.state === 'running' || step.state === 'failed'))
  return (
    <li className="border-b border-line py-2 last:border-0">
      <div className="flex min-h-6 items-center gap-2.5">
        <StepStateIcon state={step.state} />
        <span
          className={cx(
            'min-w-0 flex-1 break-words',
            step.state === 'pending' && 'text-ink-3',
            step.state === 'skipped' && 'text-ink-3',
          )}
        >
          {step.title}
        </span>
        {hasOutput && (
          <button
            type="button"
            aria-expanded={open}
            onClick={() => setChosen(!open)}
            className="inline-flex h-6 items-center gap-1 rounded px-1.5 text-sm text-ink-2 hover:bg-hover"
          >
            <ChevronRight aria-hidden className={cx('size-3.5 transition-transform', open && 'rotate-90')} />
            <span className="sr-only">{t.showOutput(step.title)}: </span>
            {t.lines(step.output.length)}
          </button>
        )}
        <StepTime step={step} />
      </div>
      {open && <Output title={step.title} lines={step.output} />}
    </li>
  )
}

function StepTime({ step }: { step: OperationStep }) {
  if (step.startedAt === null) return null
  return (
    <span className="numbers w-16 shrink-0 text-right text-sm text-ink-3">
      {step.finishedAt === null ? (
        <Ticking since={step.startedAt} />
      ) : (
        formatElapsed(Date.parse(step.finishedAt) - Date.parse(step.startedAt))
      )}
    </span>
  )
}

function Ticking({ since }: { since: string }) {
  const now = useNow()
  return formatDuration(secondsSince(since, now))
}

/** Keeps its end in sight while lines come, unless the reader scrolled up. */
function Output({ title, lines }: { title: string; lines: readonly string[] }) {
  const box = useRef<HTMLElement>(null)
  const atEnd = useRef(true)
  // biome-ignore lint/correctness/useExhaustiveDependencies: new lines are what moves it
  useEffect(() => {
    if (atEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight
  }, [lines])
  return (
    <ScrollBox
      ref={box}
      label={t.showOutput(title)}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        atEnd.current = scrollHeight - scrollTop - clientHeight < 24
      }}
      className="mt-2 mb-1 max-h-64 overflow-auto rounded-md border border-line bg-log"
    >
      <pre className="px-3 py-2 text-xs leading-5 break-words whitespace-pre-wrap">
        {lines.map(plainText).join('\n')}
      </pre>
    </ScrollBox>
  )
}

export function ProgressBar({ operation }: { operation: OperationRecord }) {
  const percent = Math.round(operation.progress * 100)
  return (
    <div
      role="progressbar"
      aria-label={t.progress}
      aria-valuenow={percent}
      aria-valuemin={0}
      aria-valuemax={100}
      className="h-1 overflow-hidden rounded-full bg-line"
    >
      <div
        className={cx(
          'h-full rounded-full transition-[width] duration-150',
          operation.state === 'failed' ? 'bg-bad' : 'bg-accent',
        )}
        style={{ width: `${isOver(operation) && operation.state === 'succeeded' ? 100 : Math.max(3, percent)}%` }}
      />
    </div>
  )
}

export function CancelOperation({ operation }: { operation: OperationRecord }) {
  const [busy, setBusy] = useState(false)
  const may = useMay()
  if (isOver(operation) || !may('operate')) return null
  return (
    <Button
      size="sm"
      busy={busy}
      onClick={async () => {
        setBusy(true)
        try {
          await cancelOperation(operation.id)
          toastDone(t.cancelled)
        } catch (error) {
          toastProblem(error)
        } finally {
          setBusy(false)
        }
      }}
    >
      {t.cancel}
    </Button>
  )
}

/** Why an operation failed: the problem, and the last lines when the program left some and no step shows them. */
export function OperationFailure({ operation, withTail = true }: { operation: OperationRecord; withTail?: boolean }) {
  if (operation.error === null) return null
  const problem = operation.error as unknown as Problem
  const tail = problem.logTail
  const lines = Array.isArray(tail) ? tail.filter((line): line is string => typeof line === 'string') : []
  return (
    <div className="flex flex-col gap-2">
      <ProblemNote problem={problem} />
      {withTail && lines.length > 0 && <LogTail lines={lines} />}
    </div>
  )
}

export function LogTail({ lines }: { lines: readonly string[] }) {
  return (
    <ScrollBox label={texts.errors.logTail} className="max-h-56 overflow-auto rounded-md border border-line bg-log">
      <pre className="w-max px-3 py-2 text-xs leading-5">{lines.map(plainText).join('\n')}</pre>
    </ScrollBox>
  )
}
