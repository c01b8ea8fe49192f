import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import type { DatabaseInput, DumpProgram, UpgradeAnew, UpgradeLook, UpgradePair } from '@stackquay/catalog'
import { waitFor } from '@stackquay/testkit'
import { begin } from './backups.ts'
import type { Machine } from './run-workload.ts'

/** Carries an upgrade out as the service does: each program by itself, and what one writes into what the next one reads. */
export function upgradesOf(method: UpgradeAnew<DatabaseInput>, pair: UpgradePair<DatabaseInput>, machine: Machine) {
  const run = async (program: DumpProgram) => {
    const running = await begin(program, machine)
    const [printed] = await Promise.all([text(running.child.stdout!), running.succeeded()])
    return printed
  }
  const carry = async ({ read, write }: { readonly read: DumpProgram; readonly write: DumpProgram }) => {
    const from = await begin(read, machine)
    const into = await begin(write, machine, true)
    const passed = pipeline(from.child.stdout!, into.child.stdin!)
    passed.catch(() => {})
    into.child.stdout!.resume()
    // Both have ended before anything else is done with the data.
    const ends = await Promise.allSettled([into.succeeded(), from.succeeded()])
    for (const end of ends) if (end.status === 'rejected') throw end.reason
  }
  const look = async () => JSON.parse(await run(method.look(pair))) as UpgradeLook
  const counts = async () => {
    const { before, after } = method.count(pair)
    return [JSON.parse(await run(before)), JSON.parse(await run(after))] as const
  }
  return {
    run,
    look,
    counts,
    /** Everything up to the moment in which the data is exchanged. */
    async convert() {
      const { names, blockers } = await look()
      if (blockers.length > 0) throw new Error(blockers.join('\n'))
      for (const transfer of method.transfers(pair, names)) await carry(transfer)
    },
    swap: () => run(method.swap(pair)),
    undo: () => run(method.undo(pair)),
    finish: () => run(method.finish(pair)),
  }
}

/** Kills a program by SIGKILL, with all it started, so long after it began, unless it ended before. */
export async function killAfter(program: DumpProgram, machine: Machine, milliseconds: number): Promise<void> {
  const running = await begin(program, machine)
  running.child.stdout!.resume()
  const ended = once(running.child, 'close')
  const failed = running.succeeded().catch(() => {})
  await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, milliseconds))])
  const reach = (signal: 'SIGKILL' | 0) => {
    try {
      return process.kill(-running.child.pid!, signal)
    } catch {
      return false
    }
  }
  reach('SIGKILL')
  await failed
  await waitFor('the killed program to be gone', async () => !reach(0))
}
