import type { World } from '../context.ts'
import { type CliError, usageError } from '../errors.ts'
import { nearest } from '../nearest.ts'
import { askHidden, isInteractive, readAllInput } from '../prompt.ts'
import type { Setting, SettingType } from './settings.ts'

/** A setting with the text typed for it; null: its value is not in the arguments, but asked for or in standard input. */
export interface TypedSetting {
  readonly key: string
  readonly text: string | null
}

/** `external.host=example`, or `external.password` alone. */
export function typedSetting(argument: string): TypedSetting {
  const sign = argument.indexOf('=')
  return sign === -1 ? { key: argument, text: null } : { key: argument.slice(0, sign), text: argument.slice(sign + 1) }
}

/**
 * The part of a PATCH that these settings are, of the types that the schema gives them. Everything that can be wrong is
 * found before anybody is asked for a secret.
 */
export async function readSettings(
  owner: string,
  settings: readonly Setting[],
  typed: readonly TypedSetting[],
  world: World,
): Promise<Record<string, unknown>> {
  const places = typed.map(({ key, text }) => ({ ...placeOf(owner, settings, key), text }))
  refuseOverlaps(places)
  const unread = places.filter(({ text }) => text === null)
  if (unread.length > 1 && !isInteractive(world)) throw usageError('Only one value can come from standard input.')
  for (const place of places) if (place.text !== null) parsedValue(place, place.text)

  const patch = emptyMap()
  for (const place of places) {
    const text = place.text ?? (await readHidden(world, place.key))
    // What is typed in secret is taken as it is, whatever it looks like.
    const value = place.text === null && isText(place.setting.type) ? text : parsedValue(place, text)
    put(patch, place.path, value)
  }
  return patch
}

interface Place {
  /** As it was typed: longer than the setting's own for an entry of a map. */
  readonly key: string
  readonly setting: Setting
  readonly path: readonly string[]
}

function placeOf(owner: string, settings: readonly Setting[], key: string): Place {
  const setting =
    settings.find((one) => one.key === key) ??
    settings.find((one) => one.type.kind === 'map' && key.startsWith(`${one.key}.`) && key.length > one.key.length + 1)
  if (setting === undefined) throw unknownSetting(owner, settings, key)
  if (setting.readOnly) throw usageError(`"${key}" cannot be set; the service decides it.`)
  const entry = key.slice(setting.key.length + 1)
  // The name of an entry may itself have dots.
  return { key, setting, path: [...setting.key.split('.'), ...(entry === '' ? [] : [entry])] }
}

function unknownSetting(owner: string, settings: readonly Setting[], key: string): CliError {
  const keys = settings.filter(({ readOnly, type }) => !readOnly && type.kind !== 'group').map((one) => one.key)
  const near = nearest(key, keys)
  const hint = near === null ? `One of: ${keys.join(', ')}` : `Did you mean "${near}"?`
  return usageError(`"${key}" is no setting of ${owner}.`, hint)
}

function refuseOverlaps(places: readonly Place[]): void {
  const holds = (outer: Place, inner: Place) => outer.path.every((name, index) => inner.path[index] === name)
  for (const [index, place] of places.entries()) {
    const other = places.slice(index + 1).find((one) => holds(one, place) || holds(place, one))
    if (other === undefined) continue
    const same = other.key === place.key
    throw usageError(same ? `"${place.key}" is set twice.` : `"${place.key}" and "${other.key}" cannot go together.`)
  }
}

function isText({ kind }: SettingType): boolean {
  return kind === 'secret' || kind === 'text'
}

function parsedValue({ key, setting }: Place, text: string): unknown {
  const { type, nullable } = setting
  if (nullable && text === 'null') return null
  const expected = (what: string) => usageError(`"${key}" must be ${what}${nullable ? ', or null' : ''}.`)
  switch (type.kind) {
    case 'secret':
      throw usageError(
        `"${key}" is a secret; on the command line others could read it.`,
        `Use --set-stdin ${key}: it is asked for without showing it, or read from standard input.`,
      )
    case 'text':
      return text
    case 'flag':
      if (text !== 'true' && text !== 'false') throw expected('true or false')
      return text === 'true'
    case 'choice':
      if (!type.options.includes(text)) throw expected(`one of ${type.options.join(', ')}`)
      return text
    case 'number':
      return numberOf(type, text, expected)
    case 'words':
      return wordsOf(text, expected)
    case 'map':
      if (key === setting.key) throw usageError(`"${key}" has entries with names: ${key}.<name>=value`)
      return text
    case 'group':
      throw nullable
        ? expected('set field by field')
        : usageError(`"${key}" is set field by field: ${key}.<field>=value`)
    case 'json':
      return jsonOf(text, expected)
    default:
      return type satisfies never
  }
}

function numberOf(
  { whole, low, high }: Extract<SettingType, { kind: 'number' }>,
  text: string,
  expected: (what: string) => CliError,
): number {
  const value = (whole ? /^-?\d{1,15}$/ : /^-?\d+(\.\d+)?$/).test(text) ? Number(text) : Number.NaN
  if (!Number.isNaN(value) && (low === null || value >= low) && (high === null || value <= high)) return value
  const range = low !== null && high !== null ? ` from ${low} to ${high}` : low !== null ? ` of at least ${low}` : ''
  throw expected(`a ${whole ? 'whole ' : ''}number${range}`)
}

/** `a,b`, or a list in JSON for words that have commas or spaces. */
function wordsOf(text: string, expected: (what: string) => CliError): readonly string[] {
  if (text.startsWith('[')) {
    const list = jsonOf(text, expected)
    if (!Array.isArray(list) || !list.every((word) => typeof word === 'string')) throw expected('a list of texts')
    return list
  }
  const words = text === '' ? [] : text.split(',')
  // A shell line would become one word with spaces, which is hardly what was meant.
  if (words.some((word) => word === '' || /\s/.test(word)))
    throw expected('words with commas between them, or a list in JSON: ["npm", "run", "dev"]')
  return words
}

function jsonOf(text: string, expected: (what: string) => CliError): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw expected('JSON')
  }
}

function readHidden(world: World, key: string): Promise<string> {
  return isInteractive(world) ? askHidden(world, `${key}: `) : readAllInput(world)
}

function put(target: Record<string, unknown>, [first, ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) target[first!] = value
  else {
    target[first!] ??= emptyMap()
    put(target[first!] as Record<string, unknown>, rest, value)
  }
}

/** Without a prototype, because `__proto__` is a name like any other. */
function emptyMap(): Record<string, unknown> {
  return Object.create(null) as Record<string, unknown>
}
