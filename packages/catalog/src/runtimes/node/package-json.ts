import type { SourceFiles } from '../../entry-types.ts'
import { sourceJson } from '../../source-json.ts'

/** What is read of a package.json. Anything odd in it counts as absent: npm itself will say what is wrong. */
export interface PackageJson {
  readonly scripts: Readonly<Record<string, string>>
  /** The same in their order: of ten thousand, which every kind of suite looks through, a list is made once. */
  readonly scriptLines: readonly (readonly [name: string, line: string])[]
  /** Names of all packages it asks for. */
  readonly dependencies: ReadonlySet<string>
  readonly main: string | null
  /** `pnpm@10.1.0` */
  readonly packageManager: string | null
  readonly hasWorkspaces: boolean
  /** It is larger or nested deeper than what is read. */
  readonly tooMuch: boolean
}

export function readPackageJson(source: SourceFiles, file: string): PackageJson | null {
  const text = source[file]
  if (typeof text !== 'string') return text === true ? { ...empty, tooMuch: true } : null
  const read = alreadyRead.get(source)?.get(file) ?? parsed(text)
  alreadyRead.set(source, (alreadyRead.get(source) ?? new Map()).set(file, read))
  return read
}

/** Actions and every kind of suite ask for the same file, which may be a megabyte. A source never changes. */
const alreadyRead = new WeakMap<SourceFiles, Map<string, PackageJson>>()

function parsed(text: string): PackageJson {
  const { value, tooMuch } = sourceJson(text)
  return tooMuch ? { ...empty, tooMuch } : toPackageJson(value)
}

const empty: PackageJson = {
  scripts: bare([]),
  scriptLines: [],
  dependencies: new Set(),
  main: null,
  packageManager: null,
  hasWorkspaces: false,
  tooMuch: false,
}

function toPackageJson(json: unknown): PackageJson {
  const fields = record(json)
  const scriptLines = Object.entries(record(fields.scripts)).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  )
  return {
    scripts: bare(scriptLines),
    scriptLines,
    dependencies: new Set(
      ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'].flatMap((field) =>
        Object.keys(record(fields[field])),
      ),
    ),
    main: typeof fields.main === 'string' ? fields.main : null,
    packageManager: typeof fields.packageManager === 'string' ? fields.packageManager : null,
    hasWorkspaces: fields.workspaces !== undefined,
    tooMuch: false,
  }
}

/** Without what every object inherits: a script may be asked for by any name, `constructor` too. */
function bare(entries: readonly (readonly [string, string])[]): Readonly<Record<string, string>> {
  const all: Record<string, string> = Object.create(null)
  for (const [name, line] of entries) all[name] = line
  return all
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}
