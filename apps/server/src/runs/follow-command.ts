import { setTimeout as sleep } from 'node:timers/promises'
import type { CommandRef, CommandState, Engine } from '@stackquay/engine-api'
import { aborted } from '../aborted.ts'
import type { CarryOutDeps, RunProgress } from './carry-out.ts'

/** Waits for the end of a command, ends it when that is asked for. Null when nobody knows of it. */
export async function followToEnd(
  { commands }: Engine,
  ref: CommandRef,
  { cancel, life }: Pick<RunProgress, 'cancel' | 'life'>,
  onError: CarryOutDeps['onError'],
): Promise<CommandState | null> {
  const over = new AbortController()
  const gone = AbortSignal.any([life, over.signal])
  const end = async () => {
    await aborted(AbortSignal.any([cancel, gone]))
    while (!gone.aborted) {
      try {
        return await commands.end(ref, gone)
      } catch (error) {
        if (gone.aborted) return
        onError(error, `ending the run ${ref.id}`)
        await sleep(endAgainMs, undefined, { signal: gone }).catch(() => undefined)
      }
    }
  }
  void end()
  try {
    for (let pause = shortestPauseMs; ; pause = Math.min(pause * 2, longestPauseMs)) {
      life.throwIfAborted()
      const state = await commands.find(ref)
      if (state === null || state.state === 'ended') return state
      const began = performance.now()
      await glance(commands, ref, state.output.end, life)
      if (performance.now() - began > longestPauseMs) pause = shortestPauseMs
      // One that prints all the time is looked at less often: every look costs a search for the position.
      await sleep(pause, undefined, { signal: life })
    }
  } finally {
    over.abort()
  }
}

const endAgainMs = 2_000

/** Until it prints something or ends. Whether it goes on is all that is asked here: what it prints next is passed over. */
async function glance(commands: Engine['commands'], ref: CommandRef, after: number, life: AbortSignal): Promise<void> {
  const enough = new AbortController()
  const signal = AbortSignal.any([enough.signal, life])
  const output = commands.read(ref, { after, follow: true }, signal)[Symbol.asyncIterator]()
  try {
    await output.next()
  } finally {
    enough.abort()
    await output.return?.()
  }
}

const shortestPauseMs = 25
const longestPauseMs = 400
