import {
  type AddonDefinition,
  addonType,
  type ChosenToolchain,
  databaseTypes,
  runtimeTypes,
  type ServiceType,
  serviceTypes,
} from '@stackquay/catalog'
import type { EngineName, RuntimesView, ServicesView } from '@stackquay/contract'
import { type Offers, whyNotHere } from '@stackquay/domain'
import type { Engine, Toolchain, ToolchainQuery } from '@stackquay/engine-api'
import type { z } from 'zod'
import { engineKind } from '../engine-kinds.ts'
import { type LinesOf, runtimesView, servicesView } from './catalogue-views.ts'
import { chooseToolchain, linesOfFound, linesOfReleases } from './version-lines.ts'

/** What this machine can run: the catalogue joined with the programs that the engine found. */
export interface Catalogue {
  /** Looks at the machine again. The first look begins at boot; whoever asks before it ended waits for it. */
  refresh(): Promise<void>
  /** Of the engine that new projects get, unless another is named. */
  offers(engine?: EngineName): Promise<Offers>
  /** The same after another look, unless the last was a moment ago: before somebody is told that something is missing. */
  offersAnew(engine?: EngineName): Promise<Offers>
  toolchain(name: string, line: string): ChosenToolchain | null
  helpers(runtime: string): Readonly<Record<string, ChosenToolchain>>
  runtimes(engine?: EngineName): Promise<z.output<typeof RuntimesView>>
  services(engine?: EngineName): Promise<z.output<typeof ServicesView>>
  toolchains(): Promise<readonly Toolchain[]>
  /** Node that runs programs of ours. */
  ourNode(): string
}

/** So old may the look at the machine be that a catalogue is told from. */
const freshMs = 10_000

export interface CatalogueOptions {
  readonly engine: Pick<Engine, 'toolchains'>
  /** The engine that new projects get. */
  readonly usual: EngineName
  readonly signal: AbortSignal
  /** Runs programs of ours where no other Node was found. */
  readonly fallbackNode: string
  /** The addons of the instance, as they are now. */
  readonly addons?: () => Readonly<Record<string, AddonDefinition>>
}

export function createCatalogue({
  engine,
  usual,
  signal,
  fallbackNode,
  addons = () => ({}),
}: CatalogueOptions): Catalogue {
  let found: readonly Toolchain[] = []
  let first: Promise<void> | null = null
  const services = () => [...serviceTypes, ...Object.values(addons()).map(addonType)]

  let lookedAt = 0
  const offered = new Map<EngineName, Offers>()

  const look = async () => {
    lookedAt = Date.now()
    found = await engine.toolchains(allQueries(services()), signal)
    offered.clear()
  }
  const ready = () => {
    first ??= look()
    return first
  }
  /** Somebody may have installed what was missing: who asks what there is gets what there is now. */
  const readyAnew = async () => {
    await ready()
    if (Date.now() - lookedAt >= freshMs) await look()
  }

  /** An engine of images has every release; one of this machine has what was found. */
  const linesOf =
    (of: EngineName): LinesOf =>
    (type) => {
      const { toolchain } = type
      const cannot = engineFault(type, of)
      if (cannot !== null) return linesOfReleases(type).map((line) => ({ ...line, available: false, reason: cannot }))
      if (toolchain === null || engineKind(of).capabilities.images) return linesOfReleases(type)
      return linesOfFound(
        type,
        found.filter(({ name }) => name === toolchain.name),
      )
    }
  const offersOf = (of: EngineName): Offers => {
    const known = offered.get(of)
    if (known !== undefined) return known
    const made = { ...allOffers(linesOf(of), services()), addons: addons() }
    offered.set(of, made)
    return made
  }

  return {
    refresh: async () => {
      first = look()
      await first
    },
    offers: async (of = usual) => {
      await ready()
      return offersOf(of)
    },
    offersAnew: async (of = usual) => {
      await readyAnew()
      return offersOf(of)
    },
    toolchain: (name, line) => {
      const type = [...runtimeTypes, ...databaseTypes, ...services()].find((one) => one.toolchain?.name === name)
      return chooseToolchain(found, name, line, (version) => type?.lineOf(version) ?? version)
    },
    helpers: (runtime) => helpersOf(runtime, found),
    runtimes: async (of = usual) => {
      await readyAnew()
      return { engine: of, ...runtimesView(linesOf(of)) }
    },
    services: async (of = usual) => {
      await readyAnew()
      return { engine: of, ...servicesView(linesOf(of), services()) }
    },
    toolchains: async () => {
      await ready()
      return found
    },
    ourNode: () => {
      const bundled = found.find((toolchain) => toolchain.name === 'node' && toolchain.bundled && toolchain.available)
      return bundled?.program ?? fallbackNode
    },
  }
}

/** Why an engine cannot run a type at all. */
function engineFault({ needs, label }: Pick<ServiceType, 'needs' | 'label'>, of: EngineName): string | null {
  if (needs === undefined || (needs === 'images') === engineKind(of).capabilities.images) return null
  return whyNotHere({ needs, label })
}

/** Every program that any kind may need, asked for once. */
function allQueries(services: readonly ServiceType[]): readonly ToolchainQuery[] {
  const byName = new Map<string, ToolchainQuery>()
  for (const kind of runtimeTypes)
    for (const query of [kind.toolchain, ...kind.helpers]) if (query !== null) byName.set(query.name, query)
  for (const kind of [...databaseTypes, ...services])
    if (kind.toolchain !== null) byName.set(kind.toolchain.name, kind.toolchain)
  return [...byName.values()]
}

/** What every type of the catalogue comes in. */
function allOffers(linesOf: LinesOf, services: readonly ServiceType[]): Offers {
  const lines = (types: readonly (Parameters<LinesOf>[0] & { readonly name: string })[]) =>
    Object.fromEntries(types.map((type) => [type.name, linesOf(type)]))
  return { runtimes: lines(runtimeTypes), databases: lines(databaseTypes), services: lines(services) }
}

/** Programs that a runtime uses beside its own, as far as they were found. */
function helpersOf(runtime: string, found: readonly Toolchain[]): Readonly<Record<string, ChosenToolchain>> {
  const helpers = runtimeTypes.find(({ name }) => name === runtime)?.helpers ?? []
  return Object.fromEntries(
    helpers.flatMap(({ name }) => {
      const chosen = chooseToolchain(found, name, null, (version) => version)
      return chosen === null ? [] : [[name, chosen]]
    }),
  )
}
