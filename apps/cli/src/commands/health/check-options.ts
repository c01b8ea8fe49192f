import type { ProjectPatch, ProjectView } from '@stackquay/contract'
import type { Command } from 'commander'
import { usageError } from '../../errors.ts'
import { wholeNumber } from '../../options.ts'
import { parseDuration } from '../../output/time.ts'

export interface CheckFlags {
  readonly path?: string
  readonly status?: string
  readonly interval?: string
  readonly failures?: string
  readonly timeout?: string
}

type Check = NonNullable<ProjectPatch['healthCheck']>

/** What is not named stays. The statuses are for the service to read. */
export function checkOf(flags: CheckFlags): Check {
  const { path, status, interval, failures } = flags
  return {
    ...(path === undefined ? {} : { path }),
    ...(status === undefined ? {} : { status }),
    ...(interval === undefined ? {} : { intervalSeconds: seconds(interval, '--interval') }),
    ...(failures === undefined ? {} : { failures: wholeNumber(failures, '--failures', 1, 20) }),
  }
}

export function addCheckOptions(command: Command): Command {
  return command
    .option('--path <path>', 'what is asked for, such as /health')
    .option('--status <statuses>', 'what counts as healthy: "200", "200-299, 304" (default: 200-399)')
}

export function seconds(text: string, option: string): number {
  const milliseconds = parseDuration(text)
  if (milliseconds === null || milliseconds % 1000 !== 0)
    throw usageError(`${option} takes a time in whole seconds, and "${text}" is none.`, 'Examples: 30, 30s, 2m')
  return milliseconds / 1000
}

export function checkText(check: ProjectView['healthCheck']): string {
  if (check === null) return 'No health check over HTTP: the project is healthy when its port is open.'
  const { path, status = '200-399', intervalSeconds = 15, failures = 3, timeoutSeconds } = check
  const times = failures === 1 ? 'once' : `${failures} times in a row`
  return `GET ${path} answers ${status}, every ${intervalSeconds} s; down when it fails ${times}. A start may take ${timeoutSeconds} s.`
}
