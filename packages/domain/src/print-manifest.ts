import { isDeepStrictEqual } from 'node:util'
import { addonType, runtimeTypes, serviceTypes } from '@stackquay/catalog'
import { Document } from 'yaml'
import { commandText } from './command-line.ts'
import { type Fields, isObject } from './fields.ts'
import { type CronSpec, type EnvVariable, type ProjectSpec, primaryDatabase, type WorkerSpec } from './spec.ts'

/**
 * The `stackquay.yml` of a project. What equals the kind's default is left out, so that the file says what is special;
 * version, preset and port always stand, since they are chosen anew where the file is used. Secrets by name alone.
 */
export function printManifest(spec: ProjectSpec): string {
  const document = new Document(
    {
      version: 1,
      name: spec.name,
      ...settingsOf(runtimeTypes, spec.runtimes),
      ...settingsOf(serviceTypes, withoutSecrets(spec.services)),
      ...whenAny('addons', settingsOf(Object.values(spec.addons ?? {}).map(addonType), spec.services)),
      ...whenAny(
        'databases',
        mapValues(
          primaryFirst(spec.databases),
          ({ primary: _primary, inside: _inside, recovered: _recovered, ...settings }) => withoutFalse(settings),
        ),
      ),
      ...whenAny('env', mapValues(spec.env, variableOf)),
      ...(spec.healthCheck === null ? {} : { healthCheck: spec.healthCheck }),
      ...(spec.limits === null ? {} : { limits: withoutNull(spec.limits) }),
      ...(spec.sleep === undefined ? {} : { sleep: withoutNull(spec.sleep) }),
      ...(spec.branches === undefined ? {} : { branches: spec.branches }),
      ...whenAny('pull', spec.pull ?? {}),
      ...whenAny('hooks', (spec.hooks ?? {}) as Readonly<Record<string, unknown>>),
      ...whenAny('workers', mapValues(spec.workers ?? {}, programOf)),
      ...whenAny('cron', mapValues(spec.cron ?? {}, programOf)),
    },
    { version: '1.2', schema: 'core', aliasDuplicateObjects: false },
  )
  // Folding would put line breaks into long values, and block text drops some white space. Double quotes keep every byte.
  return document.toString({
    lineWidth: 0,
    blockQuote: false,
    singleQuote: false,
    doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER,
  })
}

/** What is as it is by default says nothing. */
function programOf({ copied: _copied, ...program }: WorkerSpec | CronSpec): Record<string, unknown> {
  const shown: Record<string, unknown> = withoutNull({ ...program, command: commandText(program.command) })
  const defaults: Fields = { count: 1, enabled: true, timezone: 'UTC', timeLimit: '1h', overlap: 'skip' }
  return Object.fromEntries(Object.entries(shown).filter(([field, value]) => value !== defaults[field]))
}

/** The first one that a new project gets is the primary one there. */
function primaryFirst(databases: ProjectSpec['databases']): ProjectSpec['databases'] {
  const name = primaryDatabase(databases)
  return name === undefined ? databases : { [name]: databases[name]!, ...databases }
}

const alwaysShown = ['version', 'preset', 'port']

function settingsOf(
  kinds: readonly { readonly name: string; readonly settings: { defaults(): object } }[],
  all: Readonly<Record<string, Fields>>,
): Record<string, unknown> {
  const shown: Record<string, unknown> = {}
  for (const kind of kinds) {
    const settings = all[kind.name]
    if (settings === undefined) continue
    const defaults: Fields = { ...kind.settings.defaults(), enabled: true }
    const first = alwaysShown.filter((key) => key in settings)
    const special = Object.keys(settings).filter(
      (key) => !alwaysShown.includes(key) && !isDeepStrictEqual(settings[key], defaults[key]),
    )
    shown[kind.name] = Object.fromEntries([...first, ...special].map((key) => [key, settings[key]]))
  }
  return shown
}

function variableOf({ runtimes, ...variable }: EnvVariable): unknown {
  const receivers = runtimes === undefined ? {} : { runtimes }
  if (variable.secret) return { secret: true, ...receivers }
  return runtimes === undefined ? variable.value : { value: variable.value, ...receivers }
}

/** A reference to a secret means nothing elsewhere, and a file has no words for "none" either. */
function withoutSecrets(services: ProjectSpec['services']): Readonly<Record<string, Fields>> {
  const shown: Record<string, Fields> = { ...services }
  for (const { name, settings } of serviceTypes)
    for (const path of settings.secretFields) {
      const fields = shown[name]
      if (fields !== undefined) shown[name] = without(fields, path)
    }
  return shown
}

function without(fields: Fields, [key, ...rest]: readonly string[]): Fields {
  if (rest.length === 0) return Object.fromEntries(Object.entries(fields).filter(([name]) => name !== key))
  const inner = fields[key ?? '']
  return isObject(inner) ? { ...fields, [key ?? '']: without(inner, rest) } : fields
}

function withoutNull(settings: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== null))
}

function withoutFalse(fields: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== false))
}

function whenAny(key: string, entries: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.keys(entries).length === 0 ? {} : { [key]: entries }
}

function mapValues<In, Out>(record: Readonly<Record<string, In>>, change: (value: In) => Out): Record<string, Out> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]))
}
