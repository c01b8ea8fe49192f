import { ProblemError, RunInput } from '@stackquay/contract'
import type { CommandRef, Commands } from '@stackquay/engine-api'
import type { RunRow, Store } from '@stackquay/store'
import { aborted } from '../aborted.ts'
import type { FrameSocket, PeerMessage } from '../http/handler.ts'
import { createRelay, type Relay } from '../streams/relay.ts'
import { runOutput } from './run-output.ts'
import { isOver, shownRun, testCaseView } from './run-view.ts'
import type { Runs } from './runs.ts'

/** Follows a run on a socket from a position to its end. `cancel` is called when the peer asks for that. */
export type WatchRun = (row: RunRow, after: number, socket: FrameSocket, cancel: () => Promise<void>) => Promise<void>

const mostFailedTests = 200

export function createWatchRun({
  store,
  runs,
  commands,
}: {
  readonly store: Pick<Store, 'runs'>
  readonly runs: Runs
  readonly commands: Commands
}): WatchRun {
  const relays = new Map<string, { readonly relay: Relay; readers: number }>()

  return async (row, after, socket, cancel) => {
    const ref = { project: row.project, id: row.id }
    const before = await commands.find(ref)
    if (before === null && after > 0) throw nothingThere(row, after)
    await socket.send({ type: 'start', seq: after, run: await shownRun(runs.find(row.id)?.row ?? row, commands) })
    socket.receive(async (message) => {
      readInput(message)
      await cancel()
    })
    let position = after
    let told = row
    await tellUntil((found) => found.started)
    if ((await commands.find(ref)) !== null) position = await relayed(ref, position, socket)
    await tellUntil(() => false)
    if (socket.signal.aborted) return
    const end = await store.runs.find(row.id)
    if (end === null) throw new ProblemError('not_found', 'The run was deleted with its project.')
    if (!isOver(end)) throw new ProblemError('unavailable', 'The service is stopping.')
    const run = await shownRun(end, commands)
    if (end.counts !== null) {
      const failed = await store.runs.cases(row.id, { limit: mostFailedTests, outcome: 'failed' })
      await socket.send({ type: 'result', seq: position, run, failed: failed.map(testCaseView) })
    }
    await socket.send({ type: 'exit', seq: position, code: end.exitCode, signal: end.signal, run })

    /** Sends what changes about the run, until it is over or as far as is asked for. */
    async function tellUntil(isEnough: (found: NonNullable<ReturnType<Runs['find']>>) => boolean): Promise<void> {
      for (;;) {
        const found = runs.find(row.id)
        if (found === null || socket.signal.aborted) return
        if (found.row !== told && !isOver(found.row)) {
          told = found.row
          await socket.send({ type: 'status', seq: position, run: await shownRun(told, commands) })
        } else if (isEnough(found)) return
        else await Promise.race([found.changed, aborted(socket.signal)])
      }
    }
  }

  /** However many follow one run, it is read once. */
  async function relayed(ref: CommandRef, after: number, socket: FrameSocket): Promise<number> {
    const known = relays.get(ref.id) ?? { relay: createRelay(runOutput(commands, ref)), readers: 0 }
    relays.set(ref.id, known)
    known.readers += 1
    try {
      return await known.relay.send(socket, after)
    } finally {
      known.readers -= 1
      if (known.readers === 0) relays.delete(ref.id)
    }
  }
}

/** What nobody can go on from: nothing was printed yet, or it was and is forgotten. */
function nothingThere(row: RunRow, after: number): ProblemError {
  return isOver(row)
    ? new ProblemError('too_old', `The output of the run ${row.id} is not kept any more.`, {
        hint: `Its outcome is at GET /projects/${row.project}/runs/${row.id}.`,
      })
    : new ProblemError('invalid_request', `Nothing was ever answered with the position ${after}.`, {
        hint: 'Follow it from the beginning, without "after".',
      })
}

function readInput(message: PeerMessage): void {
  if (message.kind === 'text' && RunInput.safeParse(parsed(message.text)).success) return
  throw new ProblemError('invalid_request', 'A run takes no message but {"type":"cancel"}.')
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
