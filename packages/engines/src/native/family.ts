import type { StopPolicy } from '@stackquay/engine-api'
import { EngineError } from '@stackquay/engine-api/errors'
import { throwIfAborted } from './errors.ts'
import type { ControlGroup } from './isolation/control-groups.ts'
import { processesMarked, type Suspects } from './marker.ts'
import { isAlive, type ProcessEntry, type ProcessTable } from './process-table.ts'
import type { Run } from './record.ts'
import { pause } from './time.ts'

export type Leader = NonNullable<Run['process']>

/** The leader of a run while it lives; null when its pid is gone, is another process by now, or belongs to another boot. */
export function livingLeader(table: ProcessTable, leader: Leader | null): ProcessEntry | null {
  if (leader === null || leader.bootId !== table.bootId()) return null
  const entry = table.find(leader.pid)
  return isAlive(entry) && entry.startTime === leader.startTime ? entry : null
}

/**
 * Living processes of a run: its session and group, and all descendants of those, which may have sessions of their own
 * (PostgreSQL's do). Works after the leader has ended, as long as its number was not given away.
 */
export function family(table: ProcessTable, leader: Leader): readonly ProcessEntry[] {
  if (leader.bootId !== table.bootId()) return []
  const all = table.list()
  const taken = all.some((entry) => entry.pid === leader.pid && entry.startTime !== leader.startTime)
  const members = new Map<number, ProcessEntry>()
  for (const entry of all) {
    if (!taken && (entry.session === leader.pid || entry.group === leader.pid)) members.set(entry.pid, entry)
  }
  for (let grown = true; grown; ) {
    grown = false
    for (const entry of all) {
      if (members.has(entry.pid) || !members.has(entry.parent)) continue
      members.set(entry.pid, entry)
      grown = true
    }
  }
  return [...members.values()].filter(isAlive)
}

/** How long processes outside the group may take to end by themselves after the group is gone. */
const STRAY_GRACE_MS = 1000
/** After SIGKILL a process is gone within milliseconds, unless the kernel holds it (a dead network disk). */
const KILL_WAIT_MS = 10_000

/**
 * Ends a run and everything it ever started: the stop signal to the process group, SIGKILL at the deadline, then a
 * search for what left the group. Returns when nothing is left; answers whether it took SIGKILL.
 */
export async function endFamily(
  suspects: Suspects,
  target: {
    readonly leader: Leader | null
    readonly markers: string
    readonly policy: StopPolicy
    /** Everything in it is meant. */
    readonly group?: ControlGroup | null
  },
  signal: AbortSignal,
): Promise<{ killed: boolean }> {
  const { table } = suspects
  const known = new Map<number, ProcessEntry>()
  const look = () => remember(known, target.leader === null ? [] : family(table, target.leader))
  const lookEverywhere = () => {
    look()
    remember(known, processesMarked(suspects, target.markers))
    remember(known, livingOf(table, target.group?.pids() ?? []))
    return survivors(table, known)
  }

  const wasKilled = await endCrowd(table, target, signal)
  const frame = frameOf(table, target.leader)
  if (lookEverywhere().length === 0) return { killed: wasKilled }
  if (inGroup(known, target.leader).length > 0 && target.leader !== null) {
    send(-target.leader.pid, target.policy.signal)
    const groupIsGone = () => {
      look()
      return inGroup(alive(table, known), target.leader, frame).length === 0
    }
    await waitUntil(groupIsGone, target.policy.deadlineSeconds * 1000, signal)
  }
  const group = inGroup(alive(table, known), target.leader, frame)
  if (group.length === 0 && lookEverywhere().length > 0) {
    for (const stray of survivors(table, known)) send(stray.pid, 'SIGTERM')
    await waitUntil(() => survivors(table, known).length === 0, STRAY_GRACE_MS, signal)
  }
  const killed = await killAll(lookEverywhere, group.length > 0 ? target.leader : null, target.group ?? null, signal)
  return { killed: wasKilled || (killed && group.length > 0) }
}

/**
 * Processes of a sandbox around its program. They ignore signals to the group, so that the program decides, and live as long as anything in
 * the sandbox does: for what is still to be waited for they do not count.
 */
function frameOf(table: ProcessTable, leader: Leader | null): ReadonlySet<number> {
  const isFrame = ({ pid }: ProcessEntry) => table.program(pid) === 'bwrap'
  const outer = livingLeader(table, leader)
  if (outer === null || !isFrame(outer)) return new Set()
  const inner = table.list().filter((entry) => entry.parent === outer.pid && isFrame(entry))
  return new Set([outer, ...inner].map(({ pid }) => pid))
}

/** As many are ended as a group alone: to look at each of thousands takes seconds, in which this process does nothing else. */
const CROWD = 200

/** Answers whether it took SIGKILL. What is left are few. */
async function endCrowd(
  table: ProcessTable,
  { leader, group, policy }: Parameters<typeof endFamily>[1],
  signal: AbortSignal,
): Promise<boolean> {
  const isCrowd = () => (group?.pids().length ?? 0) > CROWD
  if (group == null || !isCrowd()) return false
  if (leader !== null && livingLeader(table, leader) !== null) {
    send(-leader.pid, policy.signal)
    await waitUntil(() => !isCrowd(), policy.deadlineSeconds * 1000, signal)
    if (!isCrowd()) return false
  }
  group.kill()
  await waitUntil(() => group.pids().length === 0, KILL_WAIT_MS, signal)
  return true
}

async function killAll(
  find: () => readonly ProcessEntry[],
  leader: Leader | null,
  group: ControlGroup | null,
  signal: AbortSignal,
): Promise<boolean> {
  const deadline = performance.now() + KILL_WAIT_MS
  let killed = false
  for (let wait = 2; ; wait = Math.min(wait * 2, 50)) {
    const began = performance.now()
    const left = find()
    if (left.length === 0) return killed
    killed = true
    group?.kill()
    if (leader !== null) send(-leader.pid, 'SIGKILL')
    for (const entry of left) send(entry.pid, 'SIGKILL')
    await pause(Math.max(wait, spareOf(performance.now() - began)), signal)
    throwIfAborted(signal)
    if (performance.now() > deadline) throw unkillable(left)
  }
}

async function waitUntil(done: () => boolean, milliseconds: number, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + milliseconds
  for (let wait = 4; ; wait = Math.min(wait * 1.5, 60)) {
    const began = performance.now()
    if (done() || performance.now() >= deadline) return
    const longer = Math.max(wait, spareOf(performance.now() - began))
    await pause(Math.min(longer, Math.max(deadline - performance.now(), 0)), signal)
    throwIfAborted(signal)
  }
}

/** While processes are looked at, this process does nothing else: the others have their turn. */
function spareOf(cost: number): number {
  return Math.min(cost * 3, 1000)
}

function livingOf(table: ProcessTable, pids: readonly number[]): readonly ProcessEntry[] {
  return pids.flatMap((pid) => {
    const entry = table.find(pid)
    return isAlive(entry) ? [entry] : []
  })
}

function remember(known: Map<number, ProcessEntry>, found: readonly ProcessEntry[]): void {
  for (const entry of found) known.set(entry.pid, entry)
}

function alive(table: ProcessTable, known: ReadonlyMap<number, ProcessEntry>): ReadonlyMap<number, ProcessEntry> {
  return new Map(survivors(table, known).map((entry) => [entry.pid, entry]))
}

function survivors(table: ProcessTable, known: ReadonlyMap<number, ProcessEntry>): ProcessEntry[] {
  return [...known.values()].flatMap((entry) => {
    const now = table.find(entry.pid)
    return isAlive(now) && now.startTime === entry.startTime ? [now] : []
  })
}

function inGroup(
  known: ReadonlyMap<number, ProcessEntry>,
  leader: Leader | null,
  frame: ReadonlySet<number> = new Set(),
): ProcessEntry[] {
  return leader === null
    ? []
    : [...known.values()].filter((entry) => entry.group === leader.pid && !frame.has(entry.pid))
}

/** A process that is gone already is what was wanted. */
function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {}
}

function unkillable(left: readonly ProcessEntry[]): EngineError {
  const pids = left.map((entry) => entry.pid).join(', ')
  return new EngineError('io_failed', `Processes ${pids} do not end, even by SIGKILL.`, {
    hint: 'The kernel holds them, usually because of a disk that does not answer. Check mounted network disks, then try again.',
    retryable: true,
  })
}
