import type {
  AcmeOrder,
  OperationRecord,
  OperationStep,
  ProjectStatus,
  Share,
  TestCase,
  UserView,
  WebhookDelivery,
  WorkloadStatus,
} from '@stackquay/contract'
import { cx } from '../components/class-names.ts'
import { texts } from '../texts/index.ts'

type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'idle'
/** Shapes tell states apart without colour: full, turning, triangle, cross, hollow, tick, dash, moon, question mark. */
type Shape = 'full' | 'turning' | 'triangle' | 'cross' | 'hollow' | 'tick' | 'dash' | 'moon' | 'question'
type Look = readonly [Tone, Shape]

const projectLooks: Readonly<Record<ProjectStatus['state'], Look>> = {
  stopped: ['idle', 'hollow'],
  starting: ['busy', 'turning'],
  running: ['good', 'full'],
  degraded: ['warn', 'triangle'],
  stopping: ['busy', 'turning'],
  sleeping: ['idle', 'moon'],
  failed: ['bad', 'cross'],
  creating: ['busy', 'turning'],
  deleting: ['busy', 'turning'],
  unknown: ['warn', 'question'],
}
const workloadLooks: Readonly<Record<WorkloadStatus['state'], Look>> = {
  stopped: ['idle', 'hollow'],
  starting: ['busy', 'turning'],
  running: ['good', 'full'],
  unhealthy: ['warn', 'triangle'],
  waiting: ['busy', 'dash'],
  'backing-off': ['warn', 'triangle'],
  crashed: ['bad', 'cross'],
  stopping: ['busy', 'turning'],
  unknown: ['idle', 'question'],
}
const operationLooks: Readonly<Record<OperationRecord['state'], Look>> = {
  queued: ['idle', 'dash'],
  running: ['busy', 'turning'],
  succeeded: ['good', 'tick'],
  failed: ['bad', 'cross'],
  cancelled: ['idle', 'dash'],
}
const stepLooks: Readonly<Record<OperationStep['state'], Look>> = {
  pending: ['idle', 'hollow'],
  running: ['busy', 'turning'],
  succeeded: ['good', 'tick'],
  failed: ['bad', 'cross'],
  cancelled: ['idle', 'dash'],
  skipped: ['idle', 'dash'],
}
const outcomeLooks: Readonly<Record<TestCase['outcome'], Look>> = {
  passed: ['good', 'tick'],
  failed: ['bad', 'cross'],
  skipped: ['idle', 'dash'],
}
const deliveryLooks: Readonly<Record<WebhookDelivery['state'], Look>> = {
  pending: ['busy', 'dash'],
  delivered: ['good', 'tick'],
  failed: ['bad', 'cross'],
}
const acmeLooks: Readonly<Record<AcmeOrder['state'], Look>> = {
  valid: ['good', 'full'],
  waiting: ['idle', 'dash'],
  running: ['busy', 'turning'],
  failing: ['bad', 'cross'],
}
const shareLooks: Readonly<Record<Share['state'], Look>> = {
  connecting: ['busy', 'turning'],
  open: ['good', 'full'],
  failed: ['bad', 'cross'],
}
const checkLooks = {
  ok: ['good', 'tick'],
  info: ['busy', 'dash'],
  warning: ['warn', 'triangle'],
  error: ['bad', 'cross'],
} as const satisfies Record<string, Look>

const tones: Readonly<Record<Tone, string>> = {
  good: 'text-good',
  busy: 'text-busy',
  warn: 'text-warn',
  bad: 'text-bad',
  idle: 'text-idle',
}
const softs: Readonly<Record<Tone, string>> = {
  good: 'bg-good-soft text-good',
  busy: 'bg-busy-soft text-busy',
  warn: 'bg-warn-soft text-warn',
  bad: 'bg-bad-soft text-bad',
  idle: 'bg-idle-soft text-ink-2',
}

export function ProjectStatePill({ state }: { state: ProjectStatus['state'] }) {
  return <Pill look={projectLooks[state]}>{texts.states.project[state]}</Pill>
}
export function WorkloadStatePill({ state }: { state: WorkloadStatus['state'] }) {
  return <Pill look={workloadLooks[state]}>{texts.states.workload[state]}</Pill>
}
export function OperationStatePill({ state }: { state: OperationRecord['state'] }) {
  return <Pill look={operationLooks[state]}>{texts.states.operation[state]}</Pill>
}
export function CheckStatePill({ status }: { status: keyof typeof checkLooks }) {
  return <Pill look={checkLooks[status]}>{texts.states.check[status]}</Pill>
}
/** One that no project is on and that is not for new ones may well be missing. */
export function EngineStatePill({ ready, needed }: { ready: boolean; needed: boolean }) {
  const look = ready ? checkLooks.ok : needed ? checkLooks.error : checkLooks.info
  return <Pill look={look}>{texts.diagnostics[ready ? 'ready' : 'notReady']}</Pill>
}
export function OutcomePill({ outcome }: { outcome: 'success' | 'failure' | 'denied' }) {
  const look = { success: operationLooks.succeeded, failure: operationLooks.failed, denied: workloadLooks.unhealthy }[
    outcome
  ]
  return <Pill look={look}>{texts.activity.outcomes[outcome]}</Pill>
}

export function AccountStatePill({
  user: { disabled, hasPassword, invitedUntil },
}: {
  user: Pick<UserView, 'disabled' | 'hasPassword' | 'invitedUntil'>
}) {
  const t = texts.users
  if (disabled) return <Pill look={['idle', 'dash']}>{t.disabled}</Pill>
  if (hasPassword) return <Pill look={['good', 'tick']}>{t.active}</Pill>
  return <Pill look={['idle', 'dash']}>{invitedUntil === null ? t.noPassword : t.invited}</Pill>
}

export function OperationStateIcon({ state }: { state: OperationRecord['state'] }) {
  return <Labelled look={operationLooks[state]} text={texts.states.operation[state]} />
}
export function StepStateIcon({ state }: { state: OperationStep['state'] }) {
  return <Labelled look={stepLooks[state]} text={texts.states.step[state]} />
}
export function ProjectStateIcon({ state }: { state: ProjectStatus['state'] }) {
  return <Labelled look={projectLooks[state]} text={texts.states.project[state]} />
}

export function TestOutcomeIcon({ outcome }: { outcome: TestCase['outcome'] }) {
  return <Labelled look={outcomeLooks[outcome]} text={texts.tests.outcomes[outcome]} />
}
export function DeliveryStatePill({ state }: { state: WebhookDelivery['state'] }) {
  return <Pill look={deliveryLooks[state]}>{texts.webhooks.states[state]}</Pill>
}
export function AcmeOrderPill({ state }: { state: AcmeOrder['state'] }) {
  return <Pill look={acmeLooks[state]}>{texts.acme.states[state]}</Pill>
}
export function ShareStatePill({ state }: { state: Share['state'] }) {
  return <Pill look={shareLooks[state]}>{texts.network.share.states[state]}</Pill>
}
export function WebhookStatePill({ enabled, broken }: { enabled: boolean; broken: boolean }) {
  const look: Look = enabled ? ['good', 'full'] : broken ? ['warn', 'triangle'] : ['idle', 'hollow']
  return <Pill look={look}>{texts.webhooks[enabled ? 'on' : broken ? 'switchedOff' : 'paused']}</Pill>
}

function Pill({ look: [tone, shape], children }: { look: Look; children: string }) {
  return (
    <span
      className={cx(
        'inline-flex h-5.5 items-center gap-1.5 rounded-full pr-2 pl-1.5 text-xs font-medium whitespace-nowrap',
        softs[tone],
      )}
    >
      <ShapeIcon shape={shape} />
      {children}
    </span>
  )
}

function Labelled({ look: [tone, shape], text }: { look: Look; text: string }) {
  return (
    <span className={cx('inline-flex shrink-0', tones[tone])} title={text}>
      <ShapeIcon shape={shape} />
      <span className="sr-only">{text}</span>
    </span>
  )
}

function ShapeIcon({ shape }: { shape: Shape }) {
  return (
    <svg
      viewBox="0 0 14 14"
      aria-hidden="true"
      className={cx('size-3.5 shrink-0', shape === 'turning' && 'animate-turn')}
    >
      {drawings[shape]}
    </svg>
  )
}

const stroke = {
  fill: 'none',
  stroke: 'currentColor',
  strokeWidth: 1.8,
  strokeLinecap: 'round',
  strokeLinejoin: 'round',
} as const
const drawings = {
  full: <circle cx="7" cy="7" r="4" fill="currentColor" />,
  hollow: <circle cx="7" cy="7" r="3.6" {...stroke} />,
  turning: (
    <>
      <circle cx="7" cy="7" r="4.6" {...stroke} opacity=".25" />
      <path d="M7 2.4a4.6 4.6 0 0 1 4.6 4.6" {...stroke} />
    </>
  ),
  triangle: <path d="M7 2.2 12.6 11.8H1.4z" fill="currentColor" />,
  cross: <path d="m3.8 3.8 6.4 6.4m0-6.4-6.4 6.4" {...stroke} />,
  tick: <path d="m2.8 7.4 2.8 2.8 5.6-6" {...stroke} />,
  dash: <path d="M3 7h8" {...stroke} />,
  moon: <path d="M11.6 8.6A5 5 0 1 1 5.4 2.4a4 4 0 0 0 6.2 6.2z" fill="currentColor" />,
  question: (
    <>
      <path d="M4.4 4.6a2.6 2.6 0 1 1 4 2.2c-.9.6-1.4 1-1.4 1.9" {...stroke} />
      <circle cx="7" cy="11.6" r="1" fill="currentColor" />
    </>
  ),
} as const
