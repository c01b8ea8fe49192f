import type { Readiness } from '@stackquay/engine-api'
import { OLDEST_API } from './client.ts'
import type { Daemon } from './daemon.ts'
import { asDockerError } from './errors.ts'
import { ask } from './wire/request.ts'
import { targetOf } from './wire/target.ts'

const PATIENCE_MS = 10_000

/** Whether Docker answers, is new enough, and runs what we run. */
export async function probeDocker(daemon: Daemon, signal: AbortSignal): Promise<Readiness> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)])
  try {
    const target = await targetOf(daemon.docker)
    const [version, info] = (await Promise.all([
      ask(target, 'GET', '/version', { signal: deadline }),
      ask(target, 'GET', '/info', { signal: deadline }),
    ])) as [DockerVersion, DockerInfo]
    if (isOlder(version.ApiVersion, OLDEST_API)) {
      return {
        ready: false,
        reason: `Docker ${version.Version} is too old: its API is ${version.ApiVersion}.`,
        hint: `Install Docker 20.10 (API ${OLDEST_API}) or newer.`,
      }
    }
    if (info.OSType !== 'linux') {
      return {
        ready: false,
        reason: `Docker runs containers for ${info.OSType}.`,
        hint: 'Switch it to Linux containers.',
      }
    }
    return {
      ready: true,
      detail: `Docker ${version.Version} on ${info.OperatingSystem}.`,
      warnings: warningsOf(info, daemon),
    }
  } catch (error) {
    if (signal.aborted) throw asDockerError(error, signal)
    if (deadline.aborted) {
      return {
        ready: false,
        reason: `Docker did not answer within ${PATIENCE_MS / 1000} seconds.`,
        hint: 'See the log of the Docker daemon.',
      }
    }
    const { message, hint } = asDockerError(error, signal)
    return { ready: false, reason: message, hint }
  }
}

interface DockerVersion {
  readonly Version: string
  readonly ApiVersion: string
}

interface DockerInfo {
  readonly OSType: string
  readonly OperatingSystem: string
  readonly MemoryLimit?: boolean
  readonly CpuCfsQuota?: boolean
  readonly PidsLimit?: boolean
}

function warningsOf({ MemoryLimit, CpuCfsQuota, PidsLimit }: DockerInfo, daemon: Daemon): string[] {
  const missing = [
    ...(MemoryLimit === false ? ['memory'] : []),
    ...(CpuCfsQuota === false ? ['processor time'] : []),
    ...(PidsLimit === false ? ['processes'] : []),
  ]
  return [
    ...(missing.length === 0
      ? []
      : [`This Docker cannot limit ${missing.join(', ')}: limits of those have no effect.`]),
    ...(daemon.isLocal
      ? []
      : ['Docker runs on another machine: folders of projects are those of that machine, at the same paths.']),
    ...(daemon.isExposed
      ? ['Docker is asked without encryption: any attacker on the network path can become root on its machine.']
      : []),
  ]
}

function isOlder(version: string, than: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [wantedMajor = 0, wantedMinor = 0] = than.split('.').map(Number)
  return major < wantedMajor || (major === wantedMajor && minor < wantedMinor)
}
