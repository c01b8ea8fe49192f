import type { EngineName } from '@stackquay/contract'

interface Abilities {
  /** Its workloads run from images, of which there are builds. */
  readonly images: boolean
}

const abilities: Readonly<Record<EngineName, Abilities>> = {
  native: { images: false },
  docker: { images: true },
}

/** What can be done with projects on an engine. One that this page does not know is offered nothing of its own. */
export function abilitiesOf(engine: string): Abilities {
  return isEngine(engine) ? abilities[engine] : { images: false }
}

/** Whether a new project can ask for it. */
export function isEngine(engine: string): engine is EngineName {
  return Object.hasOwn(abilities, engine)
}
