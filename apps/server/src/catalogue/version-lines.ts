import type { ChosenToolchain, Release } from '@stackquay/catalog'
import type { OfferedLine } from '@stackquay/domain'
import type { Toolchain } from '@stackquay/engine-api'

/** A type of the catalogue whose versions come in lines: `22` has 22.1 and 22.2 in it. */
export interface InLines {
  readonly label: string
  readonly releases: readonly Release[]
  lineOf(version: string): string
  readonly needs?: 'images' | 'programs'
}

export interface FullLine extends OfferedLine {
  readonly endOfLife: string | null
  /** The version that was found; null where none was, and for images. */
  readonly full: string | null
}

/** An engine of images has every release. */
export function linesOfReleases({ releases }: InLines): readonly FullLine[] {
  const marked = releases.findIndex((release) => release.default === true)
  const chosen = Math.max(0, marked)
  return releases.map((release, index) => ({
    ...release,
    available: true,
    default: index === chosen,
    reason: null,
    full: null,
  }))
}

/** Of what was found on this machine, beside the releases that could be; newest first. The newest that can be used is the default. */
export function linesOfFound(type: InLines, found: readonly Toolchain[]): readonly FullLine[] {
  return withDefault(mergeLines(type, found))
}

function mergeLines(type: InLines, found: readonly Toolchain[]): readonly FullLine[] {
  const lines = new Map<string, FullLine>()
  for (const release of type.releases) {
    lines.set(release.version, {
      ...release,
      available: false,
      default: false,
      reason: `${type.label} ${release.version} is not installed on this machine.`,
      full: null,
    })
  }
  for (const toolchain of [...found].sort(
    (a, b) => Number(a.available) - Number(b.available) || compareVersions(a.version, b.version),
  )) {
    const version = type.lineOf(toolchain.version)
    const before = lines.get(version)
    if (before?.available === true && !toolchain.available) continue
    lines.set(version, {
      version,
      endOfLife: before?.endOfLife ?? null,
      available: toolchain.available,
      default: false,
      reason: toolchain.reason,
      full: toolchain.version,
    })
  }
  return [...lines.values()].sort((a, b) => compareVersions(b.version, a.version))
}

function withDefault(lines: readonly FullLine[]): readonly FullLine[] {
  const chosen = lines.find((line) => line.available)
  return lines.map((line) => (line === chosen ? { ...line, default: true } : line))
}

/** Why none of the lines can be used. What was found and cannot be used says more than what is not there. */
export function whyNone(type: InLines, lines: readonly FullLine[]): string {
  const found = lines.find((line) => line.full !== null && line.reason !== null)
  const shared = lines[0]?.reason ?? null
  if (type.needs !== undefined && shared !== null) return shared
  return found?.reason ?? `No ${type.label} was found on this machine.`
}

/** The program of this line, or of any for null: one that came along before another, and a newer before an older. */
export function chooseToolchain(
  found: readonly Toolchain[],
  name: string,
  line: string | null,
  lineOf: (version: string) => string,
): ChosenToolchain | null {
  const fit = found
    .filter(
      (toolchain) =>
        toolchain.name === name && toolchain.available && (line === null || lineOf(toolchain.version) === line),
    )
    .sort((a, b) => Number(b.bundled) - Number(a.bundled) || compareVersions(b.version, a.version))[0]
  return fit === undefined ? null : { version: fit.version, program: fit.program, directory: fit.directory }
}

/** Number by number; what is not a number compares as text. */
export function compareVersions(a: string, b: string): number {
  const left = a.split(/[.-]/)
  const right = b.split(/[.-]/)
  for (let index = 0; index < Math.max(left.length, right.length); index += 1) {
    const x = left[index] ?? '0'
    const y = right[index] ?? '0'
    const order = /^\d+$/.test(x) && /^\d+$/.test(y) ? Number(x) - Number(y) : x.localeCompare(y)
    if (order !== 0) return order
  }
  return 0
}
