import { EngineError } from '@stackquay/engine-api'
import type { Daemon } from './daemon.ts'

export async function* readData(
  _daemon: Daemon,
  project: string,
  name: string,
  _signal: AbortSignal,
): AsyncGenerator<Buffer, void> {
  yield* await notYet(project, name)
}

export async function writeData(
  _daemon: Daemon,
  project: string,
  name: string,
  _archive: AsyncIterable<Uint8Array>,
  _signal: AbortSignal,
): Promise<void> {
  await notYet(project, name)
}

async function notYet(project: string, name: string): Promise<Buffer[]> {
  throw new EngineError('engine_cannot', `Data ${name} of ${project} cannot be read or written yet.`, { hint: 'Wait.' })
}
