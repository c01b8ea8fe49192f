import { z } from 'zod'
import type { Preset, RuntimeSettings, Settings } from './entry-types.ts'

export const Port = z.int().min(1).max(65535)

/** One name in a path that is not `..`; in an expression that every dialect reads, so without looking ahead. */
const character = String.raw`[^/\\\x00-\x1f]`
const notDot = String.raw`[^./\\\x00-\x1f]`
const step = String.raw`(?:\.|\.?${notDot}${character}*|\.\.${character}+)`
const folderInside = new RegExp(`^${step}(?:/(?:${step})?)*$`)

/** A folder of the project, relative to it; `.` is the project itself. Neither absolute nor with a step upwards. */
export const RelativeFolder = z
  .string()
  .min(1)
  .max(400)
  .regex(folderInside, 'must be a folder inside the project, such as "apps/web"')

/** argv that replaces the preset's own command. `null` takes the preset's command again. */
const Command = z.array(z.string().min(1).max(4096)).min(1).max(64).nullable()

const readOnly = z
  .int()
  .nullable()
  .meta({ readOnly: true, description: 'Read-only: the port on this machine. Accepted on input and ignored.' })

/**
 * The three schemas of a runtime out of its own fields. `own` are its full stored fields, `defaults` their values when
 * nothing was said. Nested objects (a dev server) name their read-only fields in their own schemas.
 */
export function runtimeSettings<Own extends z.ZodRawShape>(
  presets: readonly Preset[],
  own: Own,
  defaults: Readonly<Record<string, unknown>>,
  /** Patch forms of own fields that are objects; every other own field becomes optional as it is. */
  ownPatch: z.ZodRawShape = {},
  /** View forms of own fields that carry read-only values. */
  ownView: z.ZodRawShape = {},
): RuntimeSettings {
  const names = presets.map((preset) => preset.name) as [string, ...string[]]
  const base = {
    enabled: z.boolean().describe('Turns the runtime on or off.'),
    version: z.string().min(1).max(40).describe('A version offered by GET /runtimes.'),
    server: z.boolean().describe('Whether its server runs. Off keeps all settings and the host port.'),
    mode: z.enum(['development', 'production']).describe('How the server is run.'),
    preset: z
      .enum(names)
      .describe('Which framework it is run as. A new preset drops the stored port unless it is sent too.'),
    port: Port.describe(
      'The port the server listens on inside its container; on the native engine it listens on hostPort.',
    ),
    debug: z.boolean().describe('Whether the debugger is open, on loopback.'),
    debugPort: Port.describe('The port the debugger listens on.'),
    command: Command.describe('Replaces the command of the preset: a list of words, never a shell line.'),
  }
  const stored = z.strictObject({ ...base, ...own })
  return {
    stored,
    patch: z.strictObject({
      ...stored.partial().shape,
      ...ownPatch,
      hostPort: readOnly.optional(),
      debugHostPort: readOnly.optional(),
    }),
    view: z.strictObject({ ...base, ...own, ...ownView, hostPort: readOnly, debugHostPort: readOnly }),
    defaults: () =>
      ({
        enabled: true,
        server: true,
        mode: 'development',
        preset: names[0],
        debug: false,
        debugPort: 9229,
        command: null,
        ...defaults,
      }) as unknown as Omit<Settings, 'version' | 'port'>,
  }
}

export { readOnly as readOnlyPort }
