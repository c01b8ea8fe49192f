// biome-ignore-all lint/suspicious/noTemplateCurlyInString: placeholders of files look like those of templates.
import { z } from 'zod'
import { databaseTypes } from '../databases/index.ts'
import { runtimeTypes } from '../runtimes/index.ts'
import { serviceTypes } from '../services/index.ts'
import { type Nameable, placeholderFault, type TextPlace } from './placeholders.ts'

/** A file is at most so long, in bytes of UTF-8. */
export const longestAddon = 65_536

export const addonNamePattern = /^[a-z][a-z0-9-]{0,28}[a-z0-9]$/

const text = (most: number) =>
  z
    .string()
    .min(1)
    .max(most)
    .refine((value) => !/[\0-\x08\x0b-\x1f\x7f]/.test(value), 'holds a control character')
const line = (most: number) => text(most).refine((value) => !/[\r\n]/.test(value), 'must be one line')
const word = z.string().regex(/^[a-z][a-z0-9-]{0,29}$/, 'must be a short name, such as "http"')
const variable = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,99}$/, 'is not a valid variable name')
const argument = z
  .string()
  .max(4096)
  .refine((value) => !value.includes('\0'), 'holds a NUL character')
const port = z.int().min(1).max(65_535)
const path = z
  .string()
  .max(400)
  .regex(/^(?:\/[A-Za-z0-9._-]+)+$/, 'must be an absolute path, such as "/data"')
  .refine((value) => !value.split('/').some((part) => part === '.' || part === '..'), 'must not hold "." or ".."')
const innerPaths = [
  '/proc',
  '/sys',
  '/dev',
  '/run',
  '/etc',
  '/bin',
  '/sbin',
  '/lib',
  '/lib64',
  '/usr/bin',
  '/usr/sbin',
  '/usr/lib',
  '/usr/local/bin',
  '/boot',
  '/stackquay',
]

const Version = z.strictObject({
  version: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$/, 'must be a version, such as "2.12"'),
  image: z
    .string()
    .max(400)
    .regex(/^[a-z0-9][A-Za-z0-9._/:@-]*$/, 'must be the name of an image, such as "nats:2.12"')
    .optional(),
  default: z.boolean().optional(),
  endOfLife: z.iso.date('must be a date, such as 2027-04-30').optional(),
})

const PortField = z.strictObject({
  name: word,
  port,
  page: z.boolean().optional(),
  published: z.boolean().optional(),
})

/**
 * Names that secrets of addons can have. A closed list: backups, snapshots and the trash take the secrets of a service along, also where
 * its definition is not at hand.
 */
export const addonSecrets = [
  'password',
  'admin-password',
  'key',
  'secret-key',
  'token',
  'admin-token',
  'salt',
  'cookie-secret',
] as const

/** What a file says of an addon. Complete: what a project keeps of it, too. */
export const AddonDefinition = z.strictObject({
  name: z.string().regex(addonNamePattern, 'must match [a-z][a-z0-9-]*[a-z0-9], at most 30 characters'),
  title: line(60),
  description: line(300),
  homepage: z
    .url({ protocol: /^https?$/, error: 'must be an address with https' })
    .max(300)
    .optional(),
  versions: z.array(Version).min(1).max(20),
  native: z
    .strictObject({
      programs: z
        .array(z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$/, 'must be the file name of a program'))
        .min(1)
        .max(5),
      argv: z.array(argument).max(64),
      versionArgs: z.array(argument).min(1).max(4).optional(),
    })
    .optional(),
  command: z
    .array(argument)
    .min(1)
    .max(64)
    .refine(
      (words) => words[0]?.startsWith('/') === true,
      'must begin with the absolute path of the program in the image',
    )
    .optional(),
  user: z
    .string()
    .regex(/^(?:[a-z_][a-z0-9_-]{0,31}|[0-9]{1,7}(?::[0-9]{1,7})?)$/, 'must be a user of the image, or uid:gid')
    .refine((user) => user !== 'root' && !/^0+(?::|$)/.test(user), 'must not be root: an addon is never privileged')
    .optional(),
  env: z
    .record(variable, argument)
    .refine((all) => Object.keys(all).length <= 100, 'must have at most 100 entries')
    .optional(),
  secrets: z.array(z.enum(addonSecrets)).optional(),
  ports: z.array(PortField).min(1).max(10),
  volumes: z
    .array(
      z.strictObject({
        path: path.refine(
          (value) => !innerPaths.some((inner) => value === inner || value.startsWith(`${inner}/`)),
          'must not be a folder of the system',
        ),
      }),
    )
    .max(1, 'has more than one entry: an addon keeps its data in one folder')
    .optional(),
  mounts: z
    .literal(
      'source',
      'must be "source": an addon is given the source folder of the project, and no other of the machine',
    )
    .optional(),
  health: z
    .union(
      [
        z.strictObject({
          http: z.strictObject({
            port: word,
            path: z
              .string()
              .regex(/^\/[^\s]*$/)
              .max(500),
          }),
        }),
        z.strictObject({ tcp: word }),
      ],
      'must be {http: {port: NAME, path: /…}} or {tcp: NAME}',
    )
    .optional(),
  startSeconds: z.int().min(5).max(600).optional(),
  injects: z
    .record(variable, argument)
    .refine((all) => Object.keys(all).length <= 50, 'must have at most 50 entries')
    .optional(),
  credentials: z
    .array(
      z.strictObject({
        label: z.string().regex(/^[A-Za-z][A-Za-z0-9 ._-]{0,39}$/, 'must be a short label, such as "password"'),
        value: argument,
        secret: z.boolean().optional(),
      }),
    )
    .max(20)
    .optional(),
  dependsOn: z.array(word).max(10).optional(),
  memoryMinimum: z
    .string()
    .regex(/^[1-9]\d{0,5} ?(?:MiB|GiB)$/, 'must be an amount, such as "512 MiB"')
    .optional(),
})
export type AddonDefinition = z.infer<typeof AddonDefinition>

export interface AddonFault {
  readonly path: readonly PropertyKey[]
  readonly code: string
  readonly detail: string
}

/** What is wrong with a definition whose fields are all right by themselves. */
export function addonFaults(addon: AddonDefinition): readonly AddonFault[] {
  const taken = nameHolder(addon.name)
  return [
    ...(taken === null
      ? []
      : [fault(['name'], 'name_taken', `The name "${addon.name}" is that of ${taken}. Choose another one.`)]),
    ...runFaults(addon),
    ...textFaults(addon),
    ...doubles(
      ['ports'],
      'name',
      addon.ports.map(({ name }) => name),
    ),
    ...doubles(
      ['ports'],
      'port',
      addon.ports.map(({ port: number }) => number),
    ),
    ...doubles(
      ['versions'],
      'version',
      addon.versions.map(({ version }) => version),
    ),
    ...doubles(
      ['credentials'],
      'label',
      (addon.credentials ?? []).map(({ label }) => label),
    ),
    ...doubles(['secrets'], null, addon.secrets ?? []),
    ...doubles(['dependsOn'], null, addon.dependsOn ?? []),
    ...portFaults(addon),
    ...injectFaults(addon),
  ]
}

/** Whose name it is already, for people; null when it is free. */
export function nameHolder(name: string): string | null {
  const runtime = runtimeTypes.find((kind) => name === kind.name || name === `${kind.name}-dev`)
  if (runtime !== undefined) return `the runtime ${runtime.label}`
  const service = serviceTypes.find((kind) => name === kind.name || name === kind.hostLabel)
  if (service !== undefined) return `the service ${service.label}`
  const database = databaseTypes.find((kind) =>
    [kind.name, ...kind.aliases].some((one) => name === one || name.startsWith(`${one}-`)),
  )
  if (database !== undefined) return `databases of ${database.label}`
  if (/-\d+$/.test(name)) return 'an instance of a worker'
  return ['project', 'addon', 'addons', 'service', 'database', 'files', 'settings'].includes(name)
    ? 'Stackquay itself'
    : null
}

function runFaults({ native, command, versions, user, volumes, dependsOn = [], name }: AddonDefinition): AddonFault[] {
  const imaged = versions.filter(({ image }) => image !== undefined)
  const faults: AddonFault[] = []
  if (native === undefined && imaged.length === 0)
    faults.push(
      fault(
        ['versions'],
        'required',
        'Nothing says what runs: give the versions an "image", or name programs of the machine in "native".',
      ),
    )
  if (imaged.length > 0 && imaged.length < versions.length) {
    const at = versions.findIndex(({ image }) => image === undefined)
    faults.push(
      fault(['versions', at], 'required', `Version "${versions[at]?.version}" has no "image", and others have one.`),
    )
  }
  if (imaged.length > 0 && command === undefined)
    faults.push(
      fault(
        [],
        'required',
        'An image needs a "command": the absolute path of its program and the arguments. The entrypoint of the image is not used.',
      ),
    )
  if (imaged.length === 0)
    for (const [field, value] of Object.entries({ command, user }))
      if (value !== undefined)
        faults.push(fault([field], 'needs_image', `"${field}" is for images, and no version has one.`))
  if (versions.filter((one) => one.default === true).length > 1)
    faults.push(fault(['versions'], 'invalid', 'Only one version can be the default.'))
  if (volumes?.length === 0) faults.push(fault(['volumes'], 'invalid', 'Leave "volumes" out, or name one.'))
  if (dependsOn.includes(name))
    faults.push(fault(['dependsOn'], 'dependency_cycle', 'An addon cannot depend on itself.'))
  return faults
}

function textFaults(addon: AddonDefinition): AddonFault[] {
  const known: Nameable = {
    ports: addon.ports.map(({ name }) => name),
    secrets: addon.secrets ?? [],
    hasData: (addon.volumes ?? []).length > 0,
    hasSource: addon.mounts !== undefined,
  }
  const texts: [path: PropertyKey[], value: string, place: TextPlace][] = [
    ...(addon.command ?? []).map((value, at): [PropertyKey[], string, TextPlace] => [['command', at], value, 'argv']),
    ...(addon.native?.argv ?? []).map((value, at): [PropertyKey[], string, TextPlace] => [
      ['native', 'argv', at],
      value,
      'argv',
    ]),
    ...Object.entries(addon.env ?? {}).map(([key, value]): [PropertyKey[], string, TextPlace] => [
      ['env', key],
      value,
      'env',
    ]),
    ...Object.entries(addon.injects ?? {}).map(([key, value]): [PropertyKey[], string, TextPlace] => [
      ['injects', key],
      value,
      'outside',
    ]),
    ...(addon.credentials ?? []).map(({ value }, at): [PropertyKey[], string, TextPlace] => [
      ['credentials', at, 'value'],
      value,
      'outside',
    ]),
  ]
  const faults = texts.flatMap(([at, value, place]) => {
    const detail = placeholderFault(value, place, known)
    return detail === null ? [] : [fault(at, 'placeholder', detail)]
  })
  const open = (addon.credentials ?? []).flatMap(({ value, secret }, at) =>
    value.includes('${secret.') && secret !== true
      ? [fault(['credentials', at], 'required', 'A value with a secret in it needs "secret: true".')]
      : [],
  )
  return [...faults, ...open]
}

function portFaults({ ports, health }: AddonDefinition): AddonFault[] {
  const asked =
    health === undefined
      ? null
      : 'tcp' in health
        ? { at: ['health', 'tcp'], name: health.tcp }
        : { at: ['health', 'http', 'port'], name: health.http.port }
  const known = ports.map(({ name }) => name)
  return [
    ...(asked === null || known.includes(asked.name)
      ? []
      : [fault(asked.at, 'unknown_port', `There is no port "${asked.name}". There is ${known.join(', ')}.`)]),
    ...(ports.filter(({ page }) => page === true).length > 1
      ? [fault(['ports'], 'invalid', 'Only one port can be the page of the addon.')]
      : []),
  ]
}

/** Variables that decide how programs are loaded, or that the product sets itself. */
const ownVariables =
  /^(?:PATH|HOME|HOST|PORT|SHELL|USER|IFS|ENV|BASH_ENV|LD_.*|DYLD_.*|NODE_OPTIONS|PYTHONPATH|PYTHONSTARTUP|RUBYOPT|PERL5OPT|DATABASE_URL)$/

function injectFaults({ injects = {} }: AddonDefinition): AddonFault[] {
  const builtIn = new Set(serviceTypes.flatMap((kind) => kind.injects))
  return Object.keys(injects)
    .filter((name) => ownVariables.test(name) || builtIn.has(name))
    .map((name) =>
      fault(['injects', name], 'name_taken', `The variable "${name}" has a meaning already. Choose another one.`),
    )
}

function doubles(path: readonly string[], field: string | null, values: readonly (string | number)[]): AddonFault[] {
  return values.flatMap((value, at) =>
    values.indexOf(value) === at
      ? []
      : [
          fault(
            [...path, at, ...(field === null ? [] : [field])],
            'duplicate',
            `"${value}" stands here a second time.`,
          ),
        ],
  )
}

function fault(path: readonly PropertyKey[], code: string, detail: string): AddonFault {
  return { path, code, detail }
}

/** Names of addons that wait for each other, or null. */
export function dependencyCycle(
  addons: readonly Pick<AddonDefinition, 'name' | 'dependsOn'>[],
): readonly string[] | null {
  const needs = new Map(addons.map(({ name, dependsOn = [] }) => [name, dependsOn]))
  const done = new Set<string>()
  const visit = (name: string, above: readonly string[]): readonly string[] | null => {
    if (above.includes(name)) return [...above.slice(above.indexOf(name)), name]
    if (done.has(name)) return null
    for (const next of needs.get(name) ?? []) {
      const found = visit(next, [...above, name])
      if (found !== null) return found
    }
    done.add(name)
    return null
  }
  for (const { name } of addons) {
    const found = visit(name, [])
    if (found !== null) return found
  }
  return null
}
