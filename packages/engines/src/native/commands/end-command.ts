import type { CommandRef } from '@stackquay/engine-api'
import { throwIfAborted } from '../errors.ts'
import { commandDir, commandLock } from '../home.ts'
import { withLockFile } from '../lock.ts'
import type { Machine } from '../machine.ts'
import { pause } from '../time.ts'
import { tellHolder } from './command-control.ts'
import { controlPath, readCommandRecord, readHolderState } from './command-files.ts'
import type { CommandWakes } from './command-wakes.ts'
import { isHeld, settle, settledState } from './find-command.ts'

/** How much longer than the deadline of its stop policy a holder may take before it is ended itself. */
const SPARE_MS = 3000
/** Of one whose record was lost. The holder knows its own. */
const usual = { stop: { deadlineSeconds: 10 } }

/** Asks the holder to end its command; one that does not answer is ended with it. */
export async function endCommand(
  machine: Machine,
  wakes: CommandWakes,
  ref: CommandRef,
  signal: AbortSignal,
): Promise<void> {
  const state = await settledState(machine, ref, signal)
  if (state === null || state.ended !== null) return
  const { stop } = (await readCommandRecord(machine.home, ref)) ?? usual
  const told = { ref, deadlineMs: 0, signal }
  await tellHolder(controlPath(commandDir(machine.home, ref)), Buffer.from('end\n'), told).catch(() => false)
  const deadline = performance.now() + stop.deadlineSeconds * 1000 + SPARE_MS
  const change = wakes.listen(ref)
  try {
    while (performance.now() < deadline) {
      const now = await readHolderState(machine.home, ref)
      if (now === null || !isHeld(machine, now)) break
      // Its last act is to write down the end; it is gone the next moment.
      if (now.ended === null) await change.changed(signal)
      else await pause(5, signal)
      throwIfAborted(signal)
    }
  } finally {
    change.close()
  }
  await withLockFile(machine.table, commandLock(machine.home, ref), signal, () =>
    settle(machine, ref, 'cancelled', signal),
  )
}
