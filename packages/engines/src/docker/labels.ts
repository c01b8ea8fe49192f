import { EngineError } from '@stackquay/engine-api'
import { safe } from '../native/home.ts'
import type { Daemon } from './daemon.ts'

/*
 * Every managed object on the daemon carries the instance's id and what it is. Others see these names and look for them,
 * so they never change.
 */
export const INSTANCE = 'stackquay.instance'
export const PROJECT = 'stackquay.project'
export const WORKLOAD = 'stackquay.workload'
export const COMMAND = 'stackquay.command'
export const JOB = 'stackquay.job'
export const DATA = 'stackquay.data'
/** Of a volume that was copied: the id of the image that copied it, and can again. */
export const IMAGE = 'stackquay.image'
export const ROLE = 'stackquay.role'
/** JSON: what `observe` says of a workload. Free of secrets. */
export const DESCRIPTION = 'stackquay.description'

export type Role = 'workload' | 'job' | 'command' | 'exec' | 'network' | 'volume' | 'helper'
export type Labels = Readonly<Record<string, string>>

export function labelsOf(daemon: Daemon, project: string, role: Role, more: Labels = {}): Record<string, string> {
  return { [INSTANCE]: daemon.instance, [PROJECT]: project, [ROLE]: role, ...more }
}

/** A filter for Docker's lists. */
export function labelled(daemon: Daemon, labels: Partial<Record<string, string>> = {}): { label: string[] } {
  const wanted = Object.entries(labels).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]))
  return { label: [`${INSTANCE}=${daemon.instance}`, ...wanted] }
}

/** Whether an object is this installation's. Everything that changes or removes one asks this first. */
export function isManaged(daemon: Daemon, labels: Labels | null | undefined): boolean {
  return labels?.[INSTANCE] === daemon.instance && labels[PROJECT] !== undefined && labels[ROLE] !== undefined
}

/**
 * The same for the same thing, so that making it twice collides instead of doubling it. Parts hold no dot: what is between
 * the dots cannot be read in two ways.
 */
export function objectName(daemon: Daemon, project: string, ...parts: readonly string[]): string {
  return [`stackquay-${daemon.instance}`, ...[project, ...parts].map(safe)].join('.')
}

export function notManaged(what: string): EngineError {
  return new EngineError('engine_cannot', `There is a ${what} on this Docker that is not of this installation.`, {
    hint: 'Rename it, or remove it if it is not needed. Stackquay leaves it alone.',
  })
}
