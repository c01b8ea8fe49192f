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

export interface ProjectFormState {
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

export const emptyForm: ProjectFormState = {
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

/** The form without what is not offered: another engine has other programs, and other versions of them. */
export function offeredForm(
  form: ProjectFormState,
  { templates, runtimes, databases, services }: Offers,
): ProjectFormState {
  const available = templates.filter((template) => template.available)
  return {
    ...form,
    source: form.source === 'template' && templates.length === 0 ? 'git' : form.source,
    template: (available.find(({ name }) => name === form.template) ?? available[0])?.name ?? '',
    runtimes: offeredOnly(form.runtimes, runtimes, (choice, version) => ({
      ...choice,
      version: version(choice.version),
    })),
    databases: offeredOnly(form.databases, databases, (choice, version) => ({
      ...choice,
      version: version(choice.version),
    })),
    services: offeredOnly(form.services, services, (chosen, version) => version(chosen)),
  }
}

/** A version that is not offered becomes the default. */
function offeredOnly<Choice>(
  choices: Readonly<Record<string, Choice>>,
  types: readonly Offered[],
  fit: (choice: Choice, version: (chosen: string) => string) => Choice,
): Readonly<Record<string, Choice>> {
  return Object.fromEntries(
    Object.entries(choices).flatMap(([name, choice]): [string, Choice][] => {
      const type = types.find((one) => one.name === name && one.available)
      if (type === undefined) return []
      const known = (chosen: string) => type.versions.some((one) => one.version === chosen && one.available)
      return [[name, fit(choice, (chosen) => (known(chosen) ? chosen : ''))]]
    }),
  )
}

/** What `POST /projects` gets, or null while something that must be there is missing. */
export function bodyOf(form: ProjectFormState, name: string): ProjectCreate | null {
  if (name === '') return null
  const source = sourceOf(form)
  if (source === null) return null
  const runtimes = Object.fromEntries(
    Object.entries(form.runtimes).map(([key, { version, preset }]) => [
      key,
      { enabled: true, ...(version === '' ? {} : { version }), ...(preset === '' ? {} : { preset }) },
    ]),
  )
  const databases = Object.entries(form.databases).map(
    ([type, { name: database, version }]) => [database, { type, ...(version === '' ? {} : { version }) }] as const,
  )
  const services = Object.fromEntries(
    Object.entries(form.services).map(([key, version]) => [
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
    ...(form.engine === null ? {} : { engine: form.engine }),
    ...(form.start ? {} : { start: false }),
  }
}

function sourceOf(form: ProjectFormState): Partial<ProjectCreate> | null {
  const url = form.gitUrl.trim()
  const branch = form.gitBranch.trim()
  const path = form.path.trim()
  switch (form.source) {
    case 'template':
      return form.template === '' ? null : { template: form.template }
    case 'git':
      return url === '' ? null : { git: { url, ...(branch === '' ? {} : { branch }) } }
    case 'folder':
      return path === '' ? null : { path, ...(form.asOwner ? { runAs: 'owner' } : {}) }
    case 'empty':
      return {}
    default:
      return form.source satisfies never
  }
}

export function suggestedName(form: ProjectFormState): string {
  if (form.source === 'git') return nameOfSource(form.gitUrl)
  if (form.source === 'folder') return nameOfSource(form.path)
  return form.source === 'template' && form.template !== '' ? `my-${form.template}` : ''
}

/** The choices with one more, or with one less where the value is null. */
export function withEntry<Value>(
  entries: Readonly<Record<string, Value>>,
  key: string,
  value: Value | null,
): Readonly<Record<string, Value>> {
  const { [key]: _, ...others } = entries
  return value === null ? others : { ...others, [key]: value }
}
