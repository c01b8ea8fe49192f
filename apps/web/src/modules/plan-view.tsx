import type { Plan } from '@stackquay/contract'
import { CircleAlert, CircleCheck, LoaderCircle, ShieldCheck, Trash2, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { cx } from '../components/class-names.ts'
import { ErrorNote } from '../components/error-state.tsx'
import { formatDateTime } from '../lib/format.ts'
import { summaryOf } from '../lib/plan-summary.ts'
import { texts } from '../texts/index.ts'
import { ChangesView } from './changes-view.tsx'
import type { LivePlan } from './use-plan.ts'

/** What will be done, as sentences, with what it costs on top. */
export function PlanView({ live, idle, hideErrors }: { live: LivePlan; idle: string; hideErrors?: readonly string[] }) {
  return (
    <div aria-busy={live.pending} aria-live="polite" className="flex flex-col gap-3">
      {live.error !== null && live.error !== undefined ? (
        <ErrorNote error={live.error} hideErrors={hideErrors} />
      ) : live.plan === null ? (
        <p className="flex items-center gap-2 text-ink-2">
          {live.pending && <LoaderCircle aria-hidden className="size-4 animate-turn" />}
          {live.pending ? texts.create.planning : idle}
        </p>
      ) : (
        <div className={cx('flex flex-col gap-3 transition-opacity', live.pending && 'opacity-60')}>
          <PlanEffects plan={live.plan} />
          <DeletedData plan={live.plan} />
          <PlanWarnings plan={live.plan} />
          <PlanChanges plan={live.plan} />
          <PlanSteps plan={live.plan} />
          <KeepsRunning plan={live.plan} />
        </div>
      )}
    </div>
  )
}

/** `Restarts 1 of 4 workloads · Keeps all data`. */
function PlanEffects({ plan }: { plan: Plan }) {
  const summary = summaryOf(plan)
  const effects: ReactNode[] = []
  if (summary.restarts > 0) effects.push(texts.plan.restarts(summary.restarts, summary.running))
  if (summary.starts > 0) effects.push(texts.plan.starts(summary.starts))
  if (summary.stops > 0) effects.push(texts.plan.stops(summary.stops))
  if (effects.length === 0)
    effects.push(summary.nothing ? texts.plan.nothingToRun : texts.plan.steps(plan.plan.steps.length))
  return (
    <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <span className="font-medium">{effects.join(' · ')}</span>
      {summary.deletesData.length === 0 && (
        <span className="inline-flex items-center gap-1.5 text-good">
          <ShieldCheck aria-hidden className="size-4" />
          {texts.plan.keepsData}
        </span>
      )}
    </p>
  )
}

function DeletedData({ plan: { plan } }: { plan: Plan }) {
  if (plan.trashUntil !== null) return <ToTrash names={plan.deletesData} until={plan.trashUntil} />
  if (plan.deletesData.length === 0) return null
  return (
    <p className="flex gap-2 rounded-lg border border-bad/30 bg-bad-soft px-3 py-2 font-medium text-bad">
      <CircleAlert aria-hidden className="mt-0.5 size-4 shrink-0" />
      <span className="min-w-0 break-words">{texts.plan.deletesData(plan.deletesData.join(', '))}</span>
    </p>
  )
}

function ToTrash({ names, until }: { names: readonly string[]; until: string }) {
  const day = formatDateTime(until)
  return (
    <p className="flex gap-2 rounded-lg bg-warn-soft px-3 py-2">
      <Trash2 aria-hidden className="mt-0.5 size-4 shrink-0 text-warn" />
      <span className="min-w-0 break-words">
        {names.length === 0 ? texts.plan.settingsToTrash(day) : texts.plan.movesData(names.join(', '), day)}
      </span>
    </p>
  )
}

/** What becomes different in the settings, before → after. */
function PlanChanges({ plan: { plan } }: { plan: Plan }) {
  if (plan.changes.length === 0) return null
  return (
    <ChangesView
      label={texts.plan.changes}
      changes={Object.fromEntries(plan.changes.map(({ field, before, after }) => [field, { before, after }]))}
    />
  )
}

function KeepsRunning({ plan: { plan } }: { plan: Plan }) {
  if (plan.keepsRunning.length === 0) return null
  return (
    <p className="flex gap-2 text-sm text-ink-2">
      <CircleCheck aria-hidden className="mt-0.5 size-4 shrink-0 text-good" />
      <span className="min-w-0 break-words">{texts.plan.keepsRunning(plan.keepsRunning.join(', '))}</span>
    </p>
  )
}

function PlanWarnings({ plan: { plan } }: { plan: Plan }) {
  if (plan.warnings.length === 0) return null
  return (
    <ul aria-label={texts.plan.warnings} className="flex flex-col gap-1 rounded-lg bg-warn-soft px-3 py-2">
      {plan.warnings.map((warning) => (
        <li key={warning} className="flex gap-2">
          <TriangleAlert aria-hidden className="mt-1 size-3.5 shrink-0 text-warn" />
          <span className="min-w-0 break-words">{warning}</span>
        </li>
      ))}
    </ul>
  )
}

function PlanSteps({ plan: { plan } }: { plan: Plan }) {
  if (plan.steps.length === 0) return null
  return (
    <ol className="flex flex-col">
      {plan.steps.map((step, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the order is the identity
        <li key={index} className="flex gap-3">
          <span aria-hidden className="flex flex-col items-center">
            <span className="numbers flex size-5 shrink-0 items-center justify-center rounded-full border border-line bg-sunken text-[0.6875rem] text-ink-2">
              {index + 1}
            </span>
            {index < plan.steps.length - 1 && <span className="w-px flex-1 bg-line" />}
          </span>
          <span className="min-w-0 pb-2.5">
            <span className="block break-words">{step.title}</span>
            {step.because.length > 0 && step.because.join() !== plan.steps[index - 1]?.because.join() && (
              <span className="block text-sm break-words text-ink-3">
                {texts.plan.because} {step.because.join(', ')}
              </span>
            )}
          </span>
        </li>
      ))}
    </ol>
  )
}
