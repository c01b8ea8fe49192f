// biome-ignore-all lint/suspicious/noTemplateCurlyInString: placeholders of files look like those of templates.
import type { Value } from '@stackquay/engine-api'

/** Where a text of an addon stands, which decides what it may name. */
export type TextPlace = 'argv' | 'env' | 'outside'

/** What the placeholders of a file may name. */
export interface Nameable {
  readonly ports: readonly string[]
  readonly secrets: readonly string[]
  readonly hasData: boolean
  readonly hasSource: boolean
}

export const placeholderForms = [
  '${port.NAME}',
  '${host}',
  '${secret.NAME}',
  '${project.slug}',
  '${project.url}',
  '${database.NAME.url}',
  '${data}',
  '${source}',
] as const

const pattern = /\$\{([^}]*)\}/g
const databasePattern = /^database\.([a-z][a-z0-9_]{0,30})\.url$/

/** What is wrong with the placeholders of a text, or null. The list is closed: what is not on it is a fault, never plain text. */
export function placeholderFault(text: string, place: TextPlace, known: Nameable): string | null {
  if (text.includes('{data:')) return '"{data:" is not allowed. Write ${data} for the folder of the kept data.'
  if (text.replace(pattern, '').includes('${'))
    return 'A placeholder begins with "${" and has no end. Placeholders end with "}".'
  for (const [whole, name = ''] of text.matchAll(pattern)) {
    const fault = nameFault(whole, name, place, known)
    if (fault !== null) return fault
  }
  return null
}

function nameFault(whole: string, name: string, place: TextPlace, known: Nameable): string | null {
  if (name === 'host' || name === 'project.slug' || name === 'project.url') return null
  const [family = '', member = ''] = name.split('.')
  if (family === 'port' && name === `port.${member}`)
    return known.ports.includes(member) ? null : unknownMember('port', member, known.ports)
  if (family === 'secret' && name === `secret.${member}`) {
    if (place === 'argv')
      return `${whole} cannot stand in a command: every user of a machine may read it. Hand it over in "env".`
    return known.secrets.includes(member) ? null : unknownMember('secret', member, known.secrets)
  }
  if (databasePattern.test(name)) return place === 'env' ? null : `${whole} may stand in "env" alone.`
  if (name === 'data') return inside(whole, place, known.hasData, 'volumes')
  if (name === 'source') return inside(whole, place, known.hasSource, 'mounts: source')
  return `There is no placeholder ${whole}. There are ${placeholderForms.join(', ')}.`
}

function inside(whole: string, place: TextPlace, isThere: boolean, field: string): string | null {
  if (place === 'outside') return `${whole} may stand in commands and in "env" alone.`
  return isThere ? null : `${whole} needs "${field}".`
}

function unknownMember(what: string, name: string, known: readonly string[]): string {
  const list = known.length === 0 ? `The file names no ${what}.` : `There is ${known.join(', ')}.`
  return `There is no ${what} "${name}". ${list}`
}

/** Names of the databases whose address a text holds. */
export function databasesIn(text: string): readonly string[] {
  return [...text.matchAll(pattern)].flatMap(([, name = '']) => databasePattern.exec(name)?.slice(1, 2) ?? [])
}

/** What placeholders stand for. */
export interface Fillings {
  readonly host: string
  readonly slug: string
  readonly url: string
  readonly data: string
  readonly source: string
  port(name: string): number
  secret(name: string): Value
  database(name: string): Value
}

/** A text with everything filled in. A secret stays a reference. */
export function filled(text: string, fillings: Fillings): Value {
  const parts: Exclude<Value, string>[number][] = []
  let end = 0
  for (const match of text.matchAll(pattern)) {
    parts.push(text.slice(end, match.index), ...[fillingOf(match[1] ?? '', fillings)].flat())
    end = match.index + match[0].length
  }
  parts.push(text.slice(end))
  const kept = parts.filter((part) => part !== '')
  return kept.every((part) => typeof part === 'string') ? kept.join('') : kept
}

function fillingOf(name: string, fillings: Fillings): Value {
  const [family = '', member = ''] = name.split('.')
  if (family === 'port') return String(fillings.port(member))
  if (family === 'secret') return fillings.secret(member)
  if (family === 'database') return fillings.database(member)
  if (name === 'project.slug') return fillings.slug
  if (name === 'project.url') return fillings.url
  if (name === 'data') return fillings.data
  return name === 'source' ? fillings.source : fillings.host
}
