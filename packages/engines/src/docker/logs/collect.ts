import { type FileHandle, open } from 'node:fs/promises'
import type { WorkloadRef } from '@stackquay/engine-api'
import { errorCode } from '../../native/errors.ts'
import { logFiles, type Stream } from '../../native/log-files.ts'
import { type LogRecorder, recordLog } from '../../native/log-recorder.ts'
import type { LogKeeper } from '../../native/log-retention.ts'
import { pause } from '../../native/time.ts'
import type { Daemon } from '../daemon.ts'
import { RefusedRequest } from '../wire/request.ts'
import { targetOf } from '../wire/target.ts'
import { type CollectorState, openState, readState, type StateFile } from './collector-state.ts'
import { followOutput, hasLastMessage, phaseOf } from './container-output.ts'
import { createMessageReader, type Taken } from './message-reader.ts'
import { takeMessages } from './take-messages.ts'

/** How soon Docker is asked again: at first, and when it or the disk goes on refusing. */
const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 5000
/** An ended container whose last message does not come is given up: then its logs are broken. */
const MOST_TRIES = 10

/**
 * Stores all that the container of the last run printed and prints, until it has ended and everything is there, or the signal aborts.
 * The caller holds the lock. What was stored is never stored again, whenever this process was killed.
 */
export async function collect(
  daemon: Daemon,
  logs: LogKeeper,
  ref: WorkloadRef,
  signal: AbortSignal,
  opened: (printer: Printer | null) => void,
): Promise<void> {
  const known = readState(daemon.home, ref)
  if (known === null || known.done) return
  const target = await targetOf(daemon.docker)
  const shelf = await openShelf(daemon, logs, ref, known)
  opened(shelf)
  try {
    let tries = 0
    for (let wait = FIRST_WAIT_MS; !signal.aborted; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
      const before = shelf.state()
      try {
        await shelf.dropUnfinished()
        const reader = createMessageReader(before, () => daemon.now().getTime())
        const output = await followOutput(target, before.container, before).catch(async (error: unknown) => {
          if ((await phaseOf(target, before.container)) === 'gone') return null
          throw error
        })
        if (output !== null) await takeMessages(output, reader, shelf.store, signal)
        if (signal.aborted) return
        const phase = output === null ? 'gone' : await phaseOf(target, before.container)
        if (phase === 'gone') return shelf.finish()
        if (phase === 'ended' && (await hasLastMessage(target, before.container, shelf.state()))) return shelf.finish()
        if (phase === 'ended' && tries++ >= MOST_TRIES) return shelf.finish()
      } catch (error) {
        if (!(error instanceof RefusedRequest) && errorCode(error) === undefined) throw error
        // Docker is away, or the disk is full: both end some day, and until then Docker keeps what was printed.
      }
      if (shelf.state() !== before) wait = FIRST_WAIT_MS
      await pause(wait, signal)
    }
  } finally {
    opened(null)
    await shelf.close()
  }
}

/** Writes between what the container prints: the output of its workload's jobs. */
export interface Printer {
  print(stream: Stream, bytes: Buffer): Promise<void>
}

interface Shelf extends Printer {
  state(): CollectorState
  /** Drops bytes behind the state, left by a crash or a full disk: they come again. */
  dropUnfinished(): Promise<void>
  store(taken: Taken): Promise<void>
  finish(): void
  close(): Promise<void>
}

async function openShelf(daemon: Daemon, logs: LogKeeper, ref: WorkloadRef, known: CollectorState): Promise<Shelf> {
  const files = logFiles(daemon, ref, known.log)
  const [out, err, file] = await Promise.all([
    open(files.out, 'a', 0o600),
    open(files.err, 'a', 0o600),
    openState(daemon.home, ref),
  ])
  await Promise.all([cutOff(out, known.stdout.size), cutOff(err, known.stderr.size)])
  const recorder = await recordLog(files, { logs, now: () => daemon.now() })
  return shelfOf({ out, err, file, recorder }, known, () => daemon.now().getTime())
}

interface Open {
  readonly out: FileHandle
  readonly err: FileHandle
  readonly file: StateFile
  readonly recorder: LogRecorder
}

/** Content first, then the state, then the times: so neither of the later ones ever points at missing content. */
function shelfOf({ out, err, file, recorder }: Open, known: CollectorState, now: () => number): Shelf {
  let state = known
  let last: Promise<unknown> = Promise.resolve()
  const inOrder = <T>(act: () => Promise<T>): Promise<T> => {
    const mine = last.then(act, act)
    last = mine
    return mine
  }
  const become = (next: Partial<CollectorState>) => {
    const changed = { ...state, ...next, number: state.number + 1 }
    file.write(changed)
    state = changed
  }
  return {
    state: () => state,
    dropUnfinished: () =>
      inOrder(async () => void (await Promise.all([cutOff(out, state.stdout.size), cutOff(err, state.stderr.size)]))),
    store: ({ stdout, stderr, marks }) =>
      inOrder(async () => {
        const [outs, errs] = await Promise.all([append(out, stdout.bytes), append(err, stderr.bytes)])
        become({ stdout: { ...stdout.reached, size: outs.to }, stderr: { ...stderr.reached, size: errs.to } })
        await recorder.note(
          marks.map((mark) => ({
            time: mark.time,
            sizes: { out: outs.from + mark.stdout, err: errs.from + mark.stderr },
          })),
        )
      }),
    print: (stream, bytes) =>
      inOrder(async () => {
        const { to } = await append(stream === 'stdout' ? out : err, bytes)
        become({ [stream]: { ...state[stream], size: to } })
        await recorder.note([{ time: now(), sizes: { out: state.stdout.size, err: state.stderr.size } }])
      }),
    finish: () => become({ done: true }),
    async close() {
      await last.catch(() => {})
      await recorder.close().catch(() => {})
      await Promise.all([out.close(), err.close()])
      file.close()
    },
  }
}

async function cutOff(file: FileHandle, size: number): Promise<void> {
  if ((await file.stat()).size > size) await file.truncate(size)
}

/** Sizes are asked for: where old lines cannot be dropped otherwise, the file is emptied now and then. */
async function append(file: FileHandle, bytes: Buffer): Promise<{ readonly from: number; readonly to: number }> {
  if (bytes.length > 0) await file.appendFile(bytes)
  const { size } = await file.stat()
  return { from: Math.max(0, size - bytes.length), to: size }
}
