import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { type CommandOutput, type CommandRef, EngineError } from '@stackquay/engine-api'
import { orNull } from '../errors.ts'
import { commandDir } from '../home.ts'
import { readCommandRecord, readStateOf, segmentPaths, statePath } from './command-files.ts'
import type { CommandHost } from './command-host.ts'
import type { CommandWakes } from './command-wakes.ts'
import { hasShim, settledState } from './find-command.ts'
import { openOutputLog } from './output-log-reader.ts'

/** Output after a position. Reads only when it is asked for more, so a slow reader holds nothing in memory. */
export async function* readCommand(
  host: CommandHost,
  wakes: CommandWakes,
  ref: CommandRef,
  { after, follow }: { readonly after: number; readonly follow: boolean },
  signal: AbortSignal,
): AsyncGenerator<readonly CommandOutput[]> {
  const directory = commandDir(host.home, ref)
  const record = await readCommandRecord(host.home, ref)
  const stateFile = record === null ? null : await orNull(open(statePath(directory), constants.O_RDONLY))
  if (record === null || stateFile === null) throw noCommand(ref)
  const change = wakes.listen(ref)
  try {
    const log = await orNull(openOutputLog(segmentPaths(directory), after, record.terminal !== null))
    if (log === null) throw noCommand(ref)
    try {
      while (!signal.aborted) {
        const ended = await hasEnded(host, stateFile, ref, signal)
        const batch = await log.next()
        if (batch.length > 0) yield batch
        else if (ended || !follow) return
        else await change.changed(signal)
      }
    } finally {
      await log.close()
    }
  } finally {
    change.close()
    await stateFile.close()
  }
}

/** Asked before reading: what is read afterwards is then all there is. */
async function hasEnded(host: CommandHost, file: FileHandle, ref: CommandRef, signal: AbortSignal): Promise<boolean> {
  const state = readStateOf(file)
  if (state === null || state.ended !== null) return state !== null
  if (hasShim(host, state)) return false
  const settled = await settledState(host, ref, signal)
  return settled === null || settled.ended !== null
}

export function noCommand(ref: CommandRef): EngineError {
  return new EngineError('engine_cannot', `There is no command ${ref.id}.`, { hint: 'It was removed; start another.' })
}
