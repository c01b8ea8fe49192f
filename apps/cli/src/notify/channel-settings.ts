import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { NotificationKind } from '@stackquay/contract'
import type { Context } from '../context.ts'
import { usageError } from '../errors.ts'
import { askHidden, isInteractive } from '../prompt.ts'

interface Property {
  readonly type?: string
  readonly writeOnly?: boolean
  readonly description?: string
  readonly anyOf?: readonly { readonly type?: string }[]
}

/**
 * The settings of a kind: those that can be seen from `name=value`, those that are secret from files or asked for, never from arguments, which
 * everybody on the machine sees.
 */
export async function channelSettings(
  context: Context,
  kind: NotificationKind,
  given: readonly string[],
  files: readonly string[],
): Promise<Record<string, unknown>> {
  const { properties = {}, required = [] } = kind.settingsSchema as {
    readonly properties?: Readonly<Record<string, Property>>
    readonly required?: readonly string[]
  }
  const names = Object.keys(properties)
  const settings: Record<string, unknown> = {}
  for (const [name, value] of given.map(pairOf)) {
    const property = properties[name]
    if (property === undefined)
      throw usageError(`${kind.label} has no setting "${name}".`, `It has: ${names.join(', ')}`)
    if (property.writeOnly === true)
      throw usageError(
        `"${name}" is secret.`,
        `Give it in a file, --secret-file ${name}=<file>, or leave it out to be asked.`,
      )
    settings[name] = typedValue(property, value)
  }
  for (const [name, file] of files.map(pairOf)) {
    if (properties[name]?.writeOnly !== true) throw usageError(`${kind.label} has no secret "${name}".`)
    settings[name] = (await readFile(resolve(context.world.cwd, file), 'utf8')).split(/\r?\n/)[0] ?? ''
  }
  for (const name of required) {
    const property = properties[name]
    if (settings[name] !== undefined || property === undefined) continue
    if (property.writeOnly !== true)
      throw usageError(`${kind.label} needs "${name}".`, `Give it: --set ${name}=…  ${property.description ?? ''}`)
    if (!isInteractive(context.world))
      throw usageError(`${kind.label} needs "${name}".`, `Give it: --secret-file ${name}=<file>`)
    settings[name] = await askHidden(context.world, `${property.description ?? name} `)
  }
  return settings
}

function pairOf(text: string): readonly [string, string] {
  const at = text.indexOf('=')
  if (at < 1) throw usageError(`"${text}" is no name=value.`)
  return [text.slice(0, at), text.slice(at + 1)]
}

function typedValue({ type, anyOf = [] }: Property, text: string): unknown {
  const types = [type, ...anyOf.map((one) => one.type)]
  if (types.includes('integer')) return Number(text)
  return types.includes('array') ? text.split(',').map((one) => one.trim()) : text
}
