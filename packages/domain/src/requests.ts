/**
 * What people ask of a project while an operation of it runs or waits. At most one operation waits; it brings the project to what is
 * wanted when it begins, so requests that come before that are merged into it. See docs/decisions/0035.
 */

/** One thing that an operation does with a project that is there. Without `workload` it is about all of it. */
export type Act =
  | {
      readonly do: 'update'
      /** Workloads that the changes make different; absent: all that are not as they are wanted. */
      readonly touches?: readonly string[]
    }
  /** The service by itself: starts or stops what is not as it is wanted, and leaves what runs in an older form. */
  | { readonly do: 'reconcile' }
  | StartAct
  | { readonly do: 'stop'; readonly workload?: string }
  | SleepAct

/** Stops all until somebody comes. See docs/decisions/0055. */
export interface SleepAct {
  readonly do: 'sleep'
  /** Nobody asked for it, so it is called off when the project was used since then: milliseconds since 1970. Absent: somebody did. */
  readonly unusedSince?: number
}

interface StartAct {
  /** `wake` starts all of a project that sleeps. */
  readonly do: 'start' | 'restart' | 'wake'
  readonly workload?: string
  readonly newerImages?: boolean
  /** Choices of builds that this restart takes the place of, for when the new ones cannot be had. */
  readonly unpinned?: readonly Unpinned[]
}

export interface Unpinned {
  readonly workload: string
  readonly reference: string
  /** The build that was chosen before; null when none was. */
  readonly image: string | null
}

/** The acts of a waiting operation with one more request, which was made last. Start and stop are levels: the last one counts. */
export function mergeActs(acts: readonly Act[], next: Act): readonly Act[] {
  switch (next.do) {
    case 'reconcile':
      return acts.length > 0 ? acts : [next]
    case 'update':
      return mergeUpdate(acts, next)
    case 'stop':
      if (next.workload === undefined) return [next]
      return [...acts.filter((act) => !isAbout(act, next.workload)), next]
    case 'sleep':
      return [next]
    case 'start':
    case 'restart':
    case 'wake':
      return next.workload === undefined ? mergeStart(acts, next) : mergeStartOfOne(acts, next)
    default:
      return next satisfies never
  }
}

/** In front: what is started after it has the new form. Whatever brings all up or down reads the newest specification anyway. */
function mergeUpdate(acts: readonly Act[], next: Extract<Act, { readonly do: 'update' }>): readonly Act[] {
  if (acts.some((act) => isAbout(act, undefined))) return acts
  const before = acts.find((act) => act.do === 'update')
  const others = acts.filter((act) => act.do !== 'update')
  if (before === undefined) return [next, ...others]
  if (before.touches === undefined || next.touches === undefined) return [{ do: 'update' }, ...others]
  return [{ do: 'update', touches: [...new Set([...before.touches, ...next.touches])] }, ...others]
}

/** A restart that waits still happens, once. Of single workloads too, unless all are restarted. */
function mergeStart(acts: readonly Act[], next: StartAct): readonly Act[] {
  const restarts = restartsIn(acts)
  const whole = restarts.find((act) => act.workload === undefined)
  if (next.do !== 'restart' && whole === undefined) return [next, ...restarts]
  return [restartOf([...restarts, next])]
}

function mergeStartOfOne(acts: readonly Act[], next: StartAct): readonly Act[] {
  if (next.do === 'start' && startsAll(acts)) return acts
  const same = restartsIn(acts).filter((act) => isAbout(act, next.workload))
  const others = acts.filter((act) => !isAbout(act, next.workload))
  return [...others, same.length === 0 ? next : restartOf([...same, next])]
}

/** Several restarts as one, of what the last is about: the newest builds when any asked for them, and the way back past all of them. */
function restartOf(acts: readonly StartAct[]): StartAct {
  const { workload } = acts.at(-1)!
  const newerImages = acts.some((act) => act.workload === workload && act.newerImages === true)
  const unpinned = acts
    .flatMap((act) => act.unpinned ?? [])
    .filter((one, at, all) => all.findIndex((first) => isSameChoice(first, one)) === at)
  return {
    do: 'restart',
    ...(workload === undefined ? {} : { workload }),
    ...(newerImages ? { newerImages } : {}),
    ...(unpinned.length === 0 ? {} : { unpinned }),
  }
}

function restartsIn(acts: readonly Act[]): readonly StartAct[] {
  return acts.filter((act): act is StartAct => act.do === 'restart')
}

function isSameChoice(one: Unpinned, other: Unpinned): boolean {
  return one.workload === other.workload && one.reference === other.reference
}

/** Of one workload, or with `undefined` of the whole project. */
function isAbout(act: Act, workload: string | undefined): boolean {
  if (act.do === 'sleep') return workload === undefined
  return act.do !== 'update' && act.do !== 'reconcile' && act.workload === workload
}

/** An operation of these acts is shown as what comes last in it of what people asked for. */
export function kindOfActs(acts: readonly Act[]): Act['do'] {
  return acts.findLast((act) => act.do !== 'reconcile')?.do ?? 'reconcile'
}

/** Whether the acts bring all of the project up. */
export function startsAll(acts: readonly Act[]): boolean {
  return acts.some((act) => isStart(act) && act.workload === undefined)
}

export function isStart(act: Act): act is StartAct {
  return act.do === 'start' || act.do === 'restart' || act.do === 'wake'
}

/** Whether the acts bring all of the project down and nothing up. */
export function stopsAll(acts: readonly Act[]): boolean {
  const [act] = acts
  return (
    acts.length === 1 && act !== undefined && (act.do === 'sleep' || (act.do === 'stop' && act.workload === undefined))
  )
}

/** An operation that has not ended, as far as another request must know. */
export interface Unfinished {
  readonly id: string
  readonly state: 'queued' | 'running'
  /** Null for one that is never merged: it creates, copies, deletes or rotates, and nothing else may happen meanwhile. */
  readonly acts: readonly Act[] | null
  readonly deletes: boolean
  /** It changes nothing of the project, such as a backup: what is asked for meanwhile is accepted, is not merged into it and begins after it. */
  readonly isQuiet?: boolean
  /** A copy that the service makes by itself: nobody asked for it now. */
  readonly isOwnCopy?: boolean
}

/**
 * - `merge`: what is to be merged with what is asked for elsewhere.
 * - `alone`: deletes data, rotates credentials, or needs the project as it is, such as a backup: only when nothing runs or waits.
 * - `restore`: the same, but it begins after a copy that the service makes by itself, instead of being refused for it.
 * - `delete`: the project goes: what runs or waits is cancelled.
 */
export type Manner = 'merge' | 'alone' | 'restore' | 'delete'

export type Admission<Operation extends Unfinished = Unfinished> =
  | { readonly type: 'refuse'; readonly holder: Operation }
  /** Nothing new begins: the waiting operation carries this too. */
  | { readonly type: 'merge'; readonly into: Operation; readonly cancels: readonly Operation[] }
  /** A new operation. It begins when all before it have ended. */
  | { readonly type: 'new'; readonly cancels: readonly Operation[] }

/** Pure: what becomes of a request, from what runs and waits for the project. `act` is what a request to be merged asks for. */
export function admit<Operation extends Unfinished>(
  unfinished: readonly Operation[],
  manner: Manner,
  act?: Act,
): Admission<Operation> {
  if (manner === 'delete') {
    const deleting = unfinished.find((one) => one.deletes)
    return deleting === undefined ? { type: 'new', cancels: unfinished } : { type: 'refuse', holder: deleting }
  }
  const holder = unfinished.find((one) =>
    manner === 'restore' ? one.isOwnCopy !== true : manner === 'alone' || one.acts === null,
  )
  if (holder !== undefined) return { type: 'refuse', holder }
  // A stop does not wait until all is up: what runs ends at its next safe step.
  const stops = act?.do === 'stop' && act.workload === undefined
  const isAgainst = (one: Operation) => one.state === 'running' && one.isQuiet !== true && !stopsAll(one.acts ?? [])
  const cancels = stops ? unfinished.filter(isAgainst) : []
  const waiting = unfinished.find((one) => one.state === 'queued' && one.isQuiet !== true)
  return waiting === undefined ? { type: 'new', cancels } : { type: 'merge', into: waiting, cancels }
}
