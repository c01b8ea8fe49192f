import type { CommandRef } from '@stackquay/engine-api'
import { throwIfAborted } from '../errors.ts'
import { commandDir, commandLock } from '../home.ts'
import { withLockFile } from '../lock.ts'
import { pause } from '../time.ts'
import { sendToShim } from './command-control.ts'
import { controlPath, readCommandRecord, readShimState } from './command-files.ts'
import type { CommandHost } from './command-host.ts'
import type { CommandWakes } from './command-wakes.ts'
import { hasShim, settle, settledState } from './find-command.ts'

/** Of one whose record was lost. The shim knows its own. */
const usual = { stop: { deadlineSeconds: 10 } }

/** Asks the shim to end its command; one that does not answer is ended with it. */
export async function endCommand(
  host: CommandHost,
  wakes: CommandWakes,
  ref: CommandRef,
  signal: AbortSignal,
): Promise<void> {
  const state = await settledState(host, ref, signal)
  if (state === null || state.ended !== null) return
  const { stop } = (await readCommandRecord(host.home, ref)) ?? usual
  const options = { ref, deadlineMs: 0, signal }
  await sendToShim(controlPath(commandDir(host.home, ref)), Buffer.from('end\n'), options).catch(() => false)
  const deadline = performance.now() + stop.deadlineSeconds * 1000 + host.spareMs
  const change = wakes.listen(ref)
  try {
    while (performance.now() < deadline) {
      const now = await readShimState(host.home, ref)
      if (now === null || !hasShim(host, now)) break
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
