import { type EngineName, engineNames } from '@stackquay/contract'
import { type EngineKind, engineKinds } from '@stackquay/engines'

/** What is known of an engine that a project can name, whether or not this instance has it. */
export function engineKind(name: EngineName): EngineKind {
  return kinds[name]
}

const kinds = Object.fromEntries(
  engineNames.map((name) => {
    const kind = engineKinds.find(({ id }) => id === name)
    if (kind === undefined) throw new TypeError(`There is no engine "${name}" to be opened.`)
    return [name, kind]
  }),
) as Readonly<Record<EngineName, EngineKind>>
