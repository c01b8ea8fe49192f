import { createHash } from 'node:crypto'
import { serviceTypes } from '@stackquay/catalog'
import type { ProjectPatch } from '@stackquay/contract'
import { labelOf } from './names.ts'

/*
 * Environments for branches of a project: their names, their settings, and when they go. Values in, values out.
 */

/** How branch environments of a project are made. Complete, once one of it was said. */
export interface BranchesSpec {
  /** `inherit`: they get the secret variables of the project, and may push with its credentials. */
  readonly secrets: 'none' | 'inherit'
  readonly databases: 'clone' | 'empty'
  readonly max: number
  readonly keepDays: number
  readonly pullRequests: boolean
}

export const defaultBranches: BranchesSpec = {
  secrets: 'none',
  databases: 'clone',
  max: 5,
  keepDays: 7,
  pullRequests: false,
}

/** The settings after a patch. Absent stays; null takes the defaults. */
export function mergeBranches(
  before: BranchesSpec | undefined,
  { branches: sent }: Pick<ProjectPatch, 'branches'>,
): BranchesSpec | undefined {
  if (sent === undefined) return before
  if (sent === null) return undefined
  const said = Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== undefined))
  return { ...defaultBranches, ...before, ...said }
}

/** Between the label of a branch and the slug of its project; no slug that people choose has it. */
export const branchSeparator = '--'

/** A DNS label has 63 characters, and a dev server answers at the same one with `-dev`. */
const mostSlug = 63 - '-dev'.length
const hashSteps = [8, 12, 15]

/**
 * Slugs for the environment of a branch, `feature-x--shop`, the best first: the first that nobody has or had is taken. What is lost of the name
 * on the way (letters, length, a slash) is made up for by a piece of its hash. `addons`: whose names are kept like those of the built-in services.
 */
export function branchSlugs(branch: string, project: string, addons: readonly string[] = []): readonly string[] {
  const room = mostSlug - branchSeparator.length - project.length
  const plain = labelOf(branch)
  const hash = createHash('sha256').update(branch).digest('hex')
  const hashed = hashSteps.map((length) => {
    const begins = plain.slice(0, Math.max(0, room - length - 1)).replace(/-$/, '')
    return begins === '' ? hash.slice(0, length) : `${begins}-${hash.slice(0, length)}`
  })
  return [plain, ...hashed]
    .filter((label) => isLabel(label, room) && !addons.includes(label))
    .map((label) => slugFor(label, project))
}

const isLabel = (label: string, room: number) => label !== '' && label.length <= room && !isKept(label)
const slugFor = (label: string, project: string) => `${label}${branchSeparator}${project}`

/**
 * Labels that lead elsewhere: `<service>--<project>` is the page of a service. With two letters the name would have its hyphens where names
 * in other scripts have theirs (`xn--`), which browsers and certificate authorities read in their own way.
 */
function isKept(label: string): boolean {
  return label.length === 2 || serviceTypes.some(({ name }) => name === label)
}

/** Of a branch environment, as its keeper sees it. */
export interface BranchFacts {
  /** Since when the remote has no such branch; null while it has it, or never had it. */
  readonly goneAt: string | null
  /** Null: it could not be looked at. */
  readonly unsaved: boolean | null
}

/** Whether an environment whose branch is gone goes now: never with changes that are nowhere else. */
export function branchFate(
  { goneAt, unsaved }: BranchFacts,
  keepDays: number,
  now: Date,
): { readonly act: 'keep' | 'remove' | 'tell'; readonly at: string | null } {
  if (goneAt === null) return { act: 'keep', at: null }
  const due = Date.parse(goneAt) + keepDays * dayMs
  const at = new Date(due).toISOString()
  if (now.getTime() < due) return { act: 'keep', at }
  return { act: unsaved === false ? 'remove' : 'tell', at }
}

const dayMs = 86_400_000

/** Since when a branch is gone, after a look at the remote that had `seen` of it. What never was there is not gone. */
export function goneSince(
  before: { readonly seenCommit: string | null; readonly goneAt: string | null },
  seen: string | null,
  now: Date,
): { readonly seenCommit: string | null; readonly goneAt: string | null } {
  if (seen !== null) return { seenCommit: seen, goneAt: null }
  if (before.seenCommit === null) return { seenCommit: null, goneAt: null }
  return { seenCommit: before.seenCommit, goneAt: before.goneAt ?? now.toISOString() }
}
