import { type EngineName, ProblemError } from '@stackquay/contract'
import type { Engine } from '@stackquay/engine-api'
import { engineKind } from '../engine-kinds.ts'

/** The engines that projects can be on. */
export interface EngineChoice {
  /** The one of new projects. */
  readonly usual: EngineName
  /** Null for one that this instance does not have. */
  named(name: EngineName): Engine | null
}

/** The engine of a new project: the one that was asked for, or the usual one. Refused where it cannot be used now. */
export async function engineForNew(
  asked: EngineName | undefined,
  { usual, named }: EngineChoice,
  signal: AbortSignal,
): Promise<EngineName> {
  const name = asked ?? usual
  const engine = named(name)
  if (engine === null)
    throw refusal(
      'unavailable_here',
      `This instance has no engine "${name}".`,
      `Start the service with ${engineKind(name).startWith}.`,
    )
  const { capabilities } = engineKind(name)
  if (!capabilities.mayBeAway) return name
  if (capabilities.images && !engine.capabilities.images)
    throw refusal('engine_cannot', `The engine "${engine.id}" runs no images, so it cannot be "${name}".`, undefined)
  const readiness = await engine.probe(AbortSignal.any([signal, AbortSignal.timeout(probeMs)]))
  if (!readiness.ready) throw refusal('unavailable_here', readiness.reason, readiness.hint)
  return name
}

/** Throws for what only an engine of images can do. */
export function requireImages(name: EngineName, { named }: EngineChoice, pointer: string): void {
  const engine = named(name)
  if (engine === null || engine.capabilities.images) return
  const detail = `The engine "${engine.id}" runs programs of this machine, and no images.`
  throw new ProblemError('engine_cannot', detail, {
    hint: 'Programs of this machine become newer when they are updated there.',
    errors: [{ pointer, code: 'engine_cannot', detail }],
    extensions: { capability: 'images' },
  })
}

const probeMs = 5_000

function refusal(code: 'unavailable_here' | 'engine_cannot', detail: string, hint: string | undefined): ProblemError {
  return new ProblemError(code, detail, {
    ...(hint === undefined ? {} : { hint }),
    errors: [{ pointer: '/engine', code, detail }],
  })
}
