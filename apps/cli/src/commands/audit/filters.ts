import { type Command, Option } from 'commander'
import type { Context } from '../../context.ts'
import { usageError } from '../../errors.ts'
import { parseMoment } from '../../output/time.ts'

const outcomes = ['success', 'failure', 'denied'] as const
type Outcome = (typeof outcomes)[number]

export interface AuditFlags {
  readonly actor?: string
  readonly action?: string
  readonly project?: string
  readonly outcome?: Outcome
  readonly since?: string
  readonly until?: string
}

export function addAuditFilters(command: Command): Command {
  return command
    .option('--actor <name>', 'only of this user and of the user’s tokens; "ada (token: ci)" for one token')
    .option('--action <action>', 'only this: project.start, user.create, auth.login …')
    .option('--project <project>', 'only about this project, by id or slug')
    .addOption(new Option('--outcome <outcome>', 'only with this outcome').choices(outcomes))
    .option('--since <when>', 'only from this time on: 10m, 2h, 2026-11-20T08:00:00Z')
    .option('--until <when>', 'only up to this time')
}

export interface AuditFilters extends Omit<AuditFlags, 'since' | 'until'> {
  readonly since: string | undefined
  readonly until: string | undefined
}

export function auditFilters({ world }: Context, flags: AuditFlags): AuditFilters {
  const { actor, action, project, outcome } = flags
  const moment = (text: string | undefined) => {
    if (text === undefined) return undefined
    const time = parseMoment(text, world.now())
    if (time === null) throw usageError(`"${text}" is not a time.`, 'Examples: 10m, 2h, 2026-11-20T08:00:00Z')
    return time
  }
  return {
    ...(actor === undefined ? {} : { actor }),
    ...(action === undefined ? {} : { action }),
    ...(project === undefined ? {} : { project }),
    ...(outcome === undefined ? {} : { outcome }),
    since: moment(flags.since),
    until: moment(flags.until),
  }
}
