import type { CommandRef } from '@stackquay/engine-api'
import { throwIfAborted } from '../errors.ts'
import { commandDir, commandLock } from '../home.ts'
import { withLockFile } from '../lock.ts'
import { pause } from '../time.ts'
import { tellHolder } from './command-control.ts'
import { controlPath, readCommandRecord, readHolderState } from './command-files.ts'
import type { CommandHost } from './command-host.ts'
import type { CommandWakes } from './command-wakes.ts'
import { isHeld, settle, settledState } from './find-command.ts'

/** Of one whose record was lost. The holder knows its own. */
const usual = { stop: { deadlineSeconds: 10 } }

/** Asks the holder to end its command; one that does not answer is ended with it. */
export async function endCommand(
  host: CommandHost,
  wakes: CommandWakes,
  ref: CommandRef,
  signal: AbortSignal,
): Promise<void> {
  const state = await settledState(host, ref, signal)
  if (state === null || state.ended !== null) return
  const { stop } = (await readCommandRecord(host.home, ref)) ?? usual
  const told = { ref, deadlineMs: 0, signal }
  await tellHolder(controlPath(commandDir(host.home, ref)), Buffer.from('end\n'), told).catch(() => false)
  const deadline = performance.now() + stop.deadlineSeconds * 1000 + host.spareMs
  const change = wakes.listen(ref)
  try {
    while (performance.now() < deadline) {
      const now = await readHolderState(host.home, ref)
      if (now === null || !isHeld(host, now)) break
      // Its last act is to write down the end; it is gone the next moment.
      if (now.ended === null) await change.changed(signal)
      else await pause(5, signal)
      throwIfAborted(signal)
    }
  } finally {
    change.close()
  }
  await withLockFile(host.table, commandLock(host.home, ref), signal, () => settle(host, ref, 'cancelled', signal))
}
