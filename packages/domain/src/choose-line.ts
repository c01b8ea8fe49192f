import type { FieldError } from '@stackquay/contract'

export interface OfferedLine {
  /** Release line, as stored: `26`, `3.11`. */
  readonly version: string
  readonly available: boolean
  readonly default: boolean
  readonly reason: string | null
}

/** The release line to store. Keeping one that is not offered any more is allowed; choosing it is not. */
export function chooseLine(
  kind: {
    readonly label: string
    readonly install: { readonly debian: string; readonly other: string }
    lineOf(version: string): string
  },
  before: string | undefined,
  sent: string | undefined,
  offered: readonly OfferedLine[],
  errors: FieldError[],
  pointer: string,
  needed: boolean,
): string {
  if (sent === undefined && before !== undefined) return before
  if (sent !== undefined && sent === before) return before
  const available = offered.filter((line) => line.available)
  if (sent === undefined) {
    const chosen = available.find((line) => line.default) ?? available[0]
    if (chosen !== undefined) return chosen.version
    if (needed) {
      const why = offered.find((line) => line.reason !== null)?.reason ?? `No ${kind.label} was found on this machine.`
      errors.push({ pointer, code: 'unavailable_here', detail: `${why} ${installText(kind.install)}` })
    }
    return offered[0]?.version ?? '0'
  }
  const line =
    offered.find((candidate) => candidate.version === sent) ??
    offered.find((candidate) => candidate.version === kind.lineOf(sent))
  if (line === undefined) {
    const known = offered.map((candidate) => candidate.version).join(', ')
    errors.push({
      pointer,
      code: 'version_not_offered',
      detail: `${kind.label} ${sent} is not offered${known === '' ? '' : `; offered are ${known}`}.`,
    })
    return sent
  }
  if (!line.available && needed) {
    errors.push({
      pointer,
      code: 'unavailable_here',
      detail: `${line.reason ?? `${kind.label} ${sent} is not installed on this machine.`} ${installText(kind.install)}`,
    })
  }
  return line.version
}

function installText({ debian, other }: { readonly debian: string; readonly other: string }): string {
  return `Debian and Ubuntu: ${debian}. Otherwise: ${other}`
}
