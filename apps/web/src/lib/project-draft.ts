import type { EngineName, OfferedRuntime, OfferedTemplate, ProjectCreate } from '@stackquay/contract'
import { nameOfSource } from './names.ts'

/** What is typed for a new project. Pure. */

export const sources = ['template', 'git', 'folder', 'empty'] as const
export type Source = (typeof sources)[number]

interface RuntimeChoice {
  readonly version: string
  readonly preset: string
}
interface DatabaseChoice {
  readonly name: string
  readonly version: string
}

export interface Draft {
  readonly source: Source
  /** Null for the one that the instance prefers. */
  readonly engine: EngineName | null
  /** Empty for the first that is offered. */
  readonly template: string
  readonly gitUrl: string
  readonly gitBranch: string
  readonly path: string
  /** Whether programs run as the person who owns that folder. */
  readonly asOwner: boolean
  /** Null until it is typed: then it follows the source. */
  readonly name: string | null
  readonly runtimes: Readonly<Record<string, RuntimeChoice>>
  readonly databases: Readonly<Record<string, DatabaseChoice>>
  /** Version by name; empty for the default. */
  readonly services: Readonly<Record<string, string>>
  readonly start: boolean
}

export const emptyDraft: Draft = {
  source: 'template',
  engine: null,
  template: '',
  gitUrl: '',
  gitBranch: '',
  path: '',
  asOwner: false,
  name: null,
  runtimes: {},
  databases: {},
  services: {},
  start: true,
}

type Offered = Pick<OfferedRuntime, 'name' | 'available'> & {
  readonly versions: readonly Pick<OfferedRuntime['versions'][number], 'version' | 'available'>[]
}

export interface Offers {
  readonly templates: readonly Pick<OfferedTemplate, 'name' | 'available'>[]
  readonly runtimes: readonly Offered[]
  readonly databases: readonly Offered[]
  readonly services: readonly Offered[]
}

/** The draft without what is not offered: another engine has other programs, and other versions of them. */
export function offeredDraft(draft: Draft, { templates, runtimes, databases, services }: Offers): Draft {
  const available = templates.filter((template) => template.available)
  return {
    ...draft,
    source: draft.source === 'template' && templates.length === 0 ? 'git' : draft.source,
    template: (available.find(({ name }) => name === draft.template) ?? available[0])?.name ?? '',
    runtimes: offeredOnly(draft.runtimes, runtimes, (choice, version) => ({
      ...choice,
      version: version(choice.version),
    })),
    databases: offeredOnly(draft.databases, databases, (choice, version) => ({
      ...choice,
      version: version(choice.version),
    })),
    services: offeredOnly(draft.services, services, (chosen, version) => version(chosen)),
  }
}

/** A version that is not offered becomes the default. */
function offeredOnly<Choice>(
  choices: Readonly<Record<string, Choice>>,
  kinds: readonly Offered[],
  fit: (choice: Choice, version: (chosen: string) => string) => Choice,
): Readonly<Record<string, Choice>> {
  return Object.fromEntries(
    Object.entries(choices).flatMap(([name, choice]): [string, Choice][] => {
      const kind = kinds.find((one) => one.name === name && one.available)
      if (kind === undefined) return []
      const known = (chosen: string) => kind.versions.some((one) => one.version === chosen && one.available)
      return [[name, fit(choice, (chosen) => (known(chosen) ? chosen : ''))]]
    }),
  )
}

/** What `POST /projects` gets, or null while something that must be there is missing. */
export function bodyOf(draft: Draft, name: string): ProjectCreate | null {
  if (name === '') return null
  const source = sourceOf(draft)
  if (source === null) return null
  const runtimes = Object.fromEntries(
    Object.entries(draft.runtimes).map(([key, { version, preset }]) => [
      key,
      { enabled: true, ...(version === '' ? {} : { version }), ...(preset === '' ? {} : { preset }) },
    ]),
  )
  const databases = Object.entries(draft.databases).map(
    ([type, { name: database, version }]) => [database, { type, ...(version === '' ? {} : { version }) }] as const,
  )
  const services = Object.fromEntries(
    Object.entries(draft.services).map(([key, version]) => [
      key,
      { enabled: true, ...(version === '' ? {} : { version }) },
    ]),
  )
  return {
    name,
    ...source,
    ...runtimes,
    ...services,
    ...(databases.length === 0 ? {} : { databases: Object.fromEntries(databases) }),
    ...(draft.engine === null ? {} : { engine: draft.engine }),
    ...(draft.start ? {} : { start: false }),
  }
}

function sourceOf(draft: Draft): Partial<ProjectCreate> | null {
  const url = draft.gitUrl.trim()
  const branch = draft.gitBranch.trim()
  const path = draft.path.trim()
  switch (draft.source) {
    case 'template':
      return draft.template === '' ? null : { template: draft.template }
    case 'git':
      return url === '' ? null : { git: { url, ...(branch === '' ? {} : { branch }) } }
    case 'folder':
      return path === '' ? null : { path, ...(draft.asOwner ? { runAs: 'owner' } : {}) }
    case 'empty':
      return {}
    default:
      return draft.source satisfies never
  }
}

export function suggestedName(draft: Draft): string {
  if (draft.source === 'git') return nameOfSource(draft.gitUrl)
  if (draft.source === 'folder') return nameOfSource(draft.path)
  return draft.source === 'template' && draft.template !== '' ? `my-${draft.template}` : ''
}
