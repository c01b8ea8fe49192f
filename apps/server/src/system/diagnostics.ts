import { runtimeTypes } from '@stackquay/catalog'
import type { DiagnosticCheck, Orphan } from '@stackquay/contract'
import type { Engine, Readiness } from '@stackquay/engine-api'
import type { Engines } from '@stackquay/engines'
import type { ProxyControl } from '@stackquay/proxy/control'
import type { Store } from '@stackquay/store'
import type { Backups } from '../backups/open-backups.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { CertificateKeeper } from '../certificates/keeper.ts'
import type { Config } from '../config.ts'
import type { InstanceIsolation } from '../isolation/isolation.ts'
import type { LogExportState } from '../log-export/keeper.ts'
import type { HistoryState } from '../metrics/history.ts'
import { addressText } from '../ports/held-addresses.ts'
import type { PortsKeeper } from '../ports/held-ports.ts'
import type { InheritedSockets } from '../ports/inherited-sockets.ts'
import { sharesPorts } from '../ports/shares-ports.ts'
import type { LiveSettings } from '../settings/instance-settings.ts'
import { certificatesCheck } from './certificates-check.ts'
import { diskCheck } from './disk-check.ts'
import { projectsOn, readinessOf } from './engine-states.ts'
import { fileSystemOf } from './file-system.ts'
import { isolationChecks } from './isolation-checks.ts'
import { logExportCheck } from './log-export-check.ts'
import { metricsCheck } from './metrics-check.ts'
import { findOrphans } from './orphans.ts'
import { proxyCheck } from './proxy-check.ts'
import { registriesCheck } from './registries-check.ts'
import { restoredCheck } from './restored-check.ts'
import { schedulesCheck } from './schedules-check.ts'
import { settingsCheck } from './settings-check.ts'
import { type SshCheckDeps, sshCheck } from './ssh-check.ts'
import { trashCheck } from './trash-check.ts'

export interface DiagnosticsDeps extends Pick<SshCheckDeps, 'ssh'> {
  readonly config: Config
  readonly settings: Pick<LiveSettings, 'view'>
  /** The one of new projects first. */
  readonly engine: Pick<Engines, 'all' | keyof Engine>
  readonly catalogue: Catalogue
  readonly store: Store
  readonly proxy: () => ProxyControl | null
  /** Why the proxy could not be started. */
  readonly proxyFault: () => string | null
  /** Why it does not listen for https, though it should. */
  readonly httpsFault: () => string | null
  /** Null where the service has no address. */
  readonly ports: PortsKeeper | null
  readonly sockets: InheritedSockets
  readonly isolation: InstanceIsolation
  readonly backups: Pick<Backups, 'known' | 'copies' | 'own'>
  readonly metrics: () => HistoryState
  readonly logExport: () => LogExportState
  readonly updates: () => Promise<readonly DiagnosticCheck[]>
  readonly certificates: Pick<CertificateKeeper, 'troubles' | 'fault' | 'unreadable'>
  readonly version: string
  readonly now: () => Date
}

type Check = (signal: AbortSignal) => Promise<DiagnosticCheck | readonly DiagnosticCheck[]>

/** Every check on its own: one that fails to run is an error of its own and hides no other. */
export async function runDiagnostics(deps: DiagnosticsDeps, signal: AbortSignal): Promise<readonly DiagnosticCheck[]> {
  const checks: readonly [string, Check][] = [
    ['engine', engineChecks(deps)],
    ['registries', () => registriesCheck(deps)],
    ['settings', () => settingsCheck(deps)],
    ['toolchains', toolchainChecks(deps)],
    ['ports', portsCheck(deps)],
    ['proxy', () => proxyCheck(deps)],
    ['certificates', async () => certificatesCheck(deps.certificates)],
    ['ssh', async () => sshCheck(deps)],
    ['held-ports', heldPortsCheck(deps)],
    ['disk', () => diskCheck(deps.config.home)],
    ['file-system', fileSystemCheck(deps)],
    ['database', databaseCheck(deps)],
    ['backup-schedules', () => schedulesCheck(deps)],
    ['trash', () => trashCheck(deps)],
    ['metrics', async () => metricsCheck(deps.metrics())],
    ['log-export', () => logExportCheck(deps)],
    ['audit', auditCheck(deps)],
    ['clock', clockCheck(deps)],
    ['isolation', () => isolationChecks(deps)],
    ['orphans', orphansCheck(deps)],
    ['restored', (signal) => restoredCheck(deps, signal)],
    ['version', versionCheck(deps)],
    ['updates', deps.updates],
  ]
  const results = await Promise.all(
    checks.map(async ([id, check]) => {
      try {
        return await check(signal)
      } catch (error) {
        const why = `The check itself failed: ${(error as Error).message}`
        return made(id, 'system', id, 'error', why, 'See the service’s log.')
      }
    }),
  )
  return results.flat()
}

/** One that new projects do not get and no project is on may be away. */
const engineChecks =
  ({ engine, store }: DiagnosticsDeps): Check =>
  async (signal) => {
    const [usual, ...others] = engine.all
    const counts = projectsOn(await store.projects.all())
    const made = [
      ...(usual === undefined ? [] : [engineCheck('engine', 'Engine', 'error', await readinessOf(usual, signal))]),
      ...(await Promise.all(
        others.map(async (other) => {
          const needed = counts(other.id) > 0 ? 'error' : 'info'
          return engineCheck(`engine-${other.id}`, `Engine ${other.id}`, needed, await readinessOf(other, signal))
        }),
      )),
    ]
    return made
  }

function engineCheck(id: string, title: string, absent: 'error' | 'info', readiness: Readiness): DiagnosticCheck {
  if (!readiness.ready) return made(id, 'engine', title, absent, readiness.reason, readiness.hint)
  return readiness.warnings.length === 0
    ? made(id, 'engine', title, 'ok', readiness.detail)
    : made(id, 'engine', title, 'warning', readiness.warnings.join(' '), readiness.detail)
}

const toolchainChecks =
  ({ catalogue }: DiagnosticsDeps): Check =>
  async () => {
    const { runtimes } = await catalogue.runtimes()
    return runtimes.map((runtime) => {
      const kind = runtimeTypes.find((candidate) => candidate.name === runtime.name)
      const versions = runtime.versions
        .filter((version) => version.available)
        .map((version) => version.fullVersion ?? version.version)
      const id = `toolchain-${runtime.name}`
      return runtime.available
        ? made(id, 'toolchains', runtime.label, 'ok', `Available: ${versions.join(', ')}.`)
        : made(
            id,
            'toolchains',
            runtime.label,
            'info',
            runtime.reason ?? 'Not installed.',
            kind?.install.other ?? null,
            runtime.install,
          )
    })
  }

const portsCheck =
  ({ config, store, engine }: DiagnosticsDeps): Check =>
  async (signal) => {
    const { from, to } = config.portRange
    const leases = await store.ports.all()
    const total = to - from + 1
    const foreign: string[] = []
    for (const lease of leases) {
      const holder = await engine.portOwner(lease.hostPort, signal)
      if (holder !== null && holder.ref === null)
        foreign.push(
          `${lease.hostPort} by ${holder.program ?? 'an unknown program'}${holder.pid === null ? '' : ` (pid ${holder.pid})`}`,
        )
    }
    if (foreign.length > 0)
      return made(
        'ports',
        'network',
        'Ports',
        'warning',
        `Ports of projects are used by other programs: ${foreign.join(', ')}.`,
        'Stop those programs, or move them to other ports.',
      )
    const left = total - leases.length
    return made(
      'ports',
      'network',
      'Ports',
      left < 20 ? 'warning' : 'ok',
      `${leases.length} of ${total} ports (${from}-${to}) are leased.`,
      left < 20 ? 'Widen STACKQUAY_PORT_RANGE.' : null,
    )
  }

function systemdHoldsAll(
  sockets: InheritedSockets,
  { proxy, proxyHttps }: Pick<Config, 'proxy' | 'proxyHttps'>,
): boolean {
  return (
    sockets.page !== undefined &&
    (sockets.proxy !== undefined || proxy === null) &&
    (sockets.proxyHttps !== undefined || proxyHttps === null)
  )
}

/** Whether a program of a project can take the ports of page and proxy while the service is down. */
const heldPortsCheck =
  ({ ports, config, sockets }: DiagnosticsDeps): Check =>
  async () => {
    const answer = (status: DiagnosticCheck['status'], detail: string, hint: string | null = null) =>
      made('held-ports', 'network', 'Ports of page and proxy', status, detail, hint)
    if (ports === null) return []
    if (systemdHoldsAll(sockets, config)) {
      return answer('ok', 'systemd holds the sockets, also while the service is down.')
    }
    if (!sharesPorts()) {
      return answer(
        'warning',
        `The ports of page and proxy are free while the service is down, so a program of a project can take them: the service runs as ${process.getuid === undefined ? 'an ordinary user' : `uid ${process.getuid()}`}, and so do projects.`,
        'Run the service as root, or let systemd open the sockets; see docs/systemd.md.',
      )
    }
    const owner = ports.status()
    if (owner === null) {
      return answer(
        'warning',
        ports.fault() ?? `Nothing holds ${addressText(config.listen)} while the service is down.`,
        'It is tried again every few seconds; see the service’s log.',
      )
    }
    const text = `Process ${owner.pid} holds ${owner.addresses.join(', ')} for the service, also while it is down.`
    if (owner.missing.length === 0) return answer('ok', text)
    const missing = owner.missing.map(({ address, reason }) => `${address} (${reason})`).join(', ')
    return answer(
      'warning',
      `${text} It could not hold ${missing}, which browsers take for the same name.`,
      'Stop the program that listens there, then restart the service.',
    )
  }

const fileSystemCheck =
  ({ config }: DiagnosticsDeps): Check =>
  async () => {
    const { name, network } = await fileSystemOf(config.home)
    return network
      ? made(
          'file-system',
          'storage',
          'File system',
          'error',
          `The home lies on ${name}, a network file system.`,
          'Move it to a local disk: databases lose data on network file systems.',
        )
      : made('file-system', 'storage', 'File system', 'ok', `The home lies on ${name}.`)
  }

const databaseCheck =
  ({ store }: DiagnosticsDeps): Check =>
  async () => {
    const faults = await store.checkIntegrity()
    return faults.length === 0
      ? made('database', 'storage', 'Database', 'ok', 'The service’s database is sound.')
      : made(
          'database',
          'storage',
          'Database',
          'error',
          faults.slice(0, 3).join(' '),
          'Stop the service and restore the database from a backup.',
        )
  }

const auditCheck =
  ({ store }: DiagnosticsDeps): Check =>
  async () => {
    const { ok, entries, firstBroken, reason, checkpoint } = await store.audit.verify()
    return ok
      ? made(
          'audit',
          'storage',
          'Audit log',
          'ok',
          `The chain over ${entries} entries holds${checkpoint === null ? '' : `; the signed checkpoint vouches for ${checkpoint.seq}`}.`,
        )
      : made(
          'audit',
          'storage',
          'Audit log',
          'error',
          `The log does not hold from entry ${firstBroken} on. ${reason}`,
          'Somebody changed the files of the service, or put back an older copy. Find out who had access. After a backup was restored on purpose, empty the file audit.checkpoint in the home and start the service again.',
        )
  }

const clockCheck =
  ({ store, now }: DiagnosticsDeps): Check =>
  async () => {
    const [last] = await store.audit.list({ limit: 1 })
    const behind = last === undefined ? 0 : Date.parse(last.time) - now().getTime()
    return behind > 5_000
      ? made(
          'clock',
          'system',
          'Clock',
          'error',
          `The clock is ${Math.round(behind / 1000)} s behind the last audit entry.`,
          'Set the clock; sessions and tokens depend on it.',
          'timedatectl set-ntp true',
        )
      : made('clock', 'system', 'Clock', 'ok', `${now().toISOString()}, not behind anything that was written.`)
  }

const orphansCheck =
  ({ engine, store }: DiagnosticsDeps): Check =>
  async (signal) => {
    const orphans = await findOrphans({ engine, store }, signal)
    if (orphans.length === 0)
      return made('orphans', 'engine', 'Orphans', 'ok', 'Nothing is left of projects that are gone.')
    const [first] = orphans
    const fix = `stq api DELETE '/system/orphans/${first!.id}?data=keep'`
    const running = orphans.filter(({ workloads }) => workloads.some((workload) => workload.running))
    if (running.length > 0)
      return made(
        'orphans',
        'engine',
        'Orphans',
        'warning',
        `Workloads of projects that are gone still run: ${listed(running)}.`,
        'Remove them by their ids. A restart of the service ends processes of this machine, unless it was restored from a backup.',
        fix,
      )
    return made(
      'orphans',
      'engine',
      'Orphans',
      'info',
      `Something is left that no project or trash knows, of ${orphans.length} projects: ${listed(orphans)}.`,
      'It stays until you remove it by its id; data=delete takes its data too, for good.',
      fix,
    )
  }

function listed(orphans: readonly Orphan[]): string {
  const texts = orphans.slice(0, 5).map(({ id, data }) => (data.length === 0 ? id : `${id} (data: ${data.join(', ')})`))
  return `${texts.join(', ')}${orphans.length > 5 ? ' …' : ''}`
}

const versionCheck =
  ({ version }: DiagnosticsDeps): Check =>
  async () =>
    made(
      'version',
      'system',
      'Version',
      'ok',
      `Stackquay ${version} on Node ${process.versions.node}, ${process.platform} ${process.arch}.`,
    )

function made(
  id: string,
  category: DiagnosticCheck['category'],
  title: string,
  status: DiagnosticCheck['status'],
  detail: string,
  hint: string | null = null,
  fix: string | null = null,
): DiagnosticCheck {
  return { id, category, title, status, detail, hint, fix }
}

export function worst(checks: readonly DiagnosticCheck[]): DiagnosticCheck['status'] {
  for (const status of ['error', 'warning'] as const) if (checks.some((check) => check.status === status)) return status
  return 'ok'
}
