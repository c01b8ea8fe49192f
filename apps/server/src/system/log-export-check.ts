import type { DiagnosticCheck } from '@stackquay/contract'
import type { Store } from '@stackquay/store'
import type { Config } from '../config.ts'
import type { LogExportState } from '../log-export/keeper.ts'

export interface LogExportCheckDeps {
  readonly config: Pick<Config, 'logExport'>
  readonly store: { readonly projects: Pick<Store['projects'], 'all'> }
  readonly logExport: () => LogExportState
  readonly now: () => Date
}

/** How long lines that were given up are a warning. */
const droppedMs = 24 * 3600 * 1000

/** Whether lines of logs arrive where they are sent; nothing where none are. */
export async function logExportCheck(deps: LogExportCheckDeps): Promise<readonly DiagnosticCheck[]> {
  const state = deps.logExport()
  if (state.target === null) return []
  const about = { id: 'log-export', category: 'network', title: 'Logs out', fix: null } as const
  const { failure, refusal, droppedAt, dropped, lines } = state
  const counts = `${counted(lines)} sent and ${dropped} dropped since the service started; ${behind(state, deps.now())}`
  if (failure !== null) {
    const detail = `${placeOf(state.target)} takes no lines: ${failure.reason} ${counts}`
    const hint = 'It is tried again by itself. When many lines wait, the oldest are dropped.'
    return [{ ...about, status: 'warning', detail, hint }]
  }
  const missing = await missingProjects(deps)
  if (missing.length > 0) {
    const detail = `There is no project ${missing.map((slug) => `"${slug}"`).join(', ')}, whose logs are to be sent. ${counts}`
    const hint = 'Write its new slug into logExportProjects, or take it out.'
    return [{ ...about, status: 'warning', detail, hint }]
  }
  if (droppedAt !== null && deps.now().getTime() - droppedAt.getTime() < droppedMs) {
    const why = refusal === null ? '' : ` The receiver refused lines: ${refusal.reason}`
    const hint = 'What was dropped is still in the logs of the projects for as long as these are kept.'
    return [{ ...about, status: 'warning', detail: `${counts}${why}`, hint }]
  }
  return [{ ...about, status: 'ok', detail: `${placeOf(state.target)}: ${counts}`, hint: null }]
}

/** Without the path and what may be secret behind it. */
function placeOf(target: NonNullable<LogExportState['target']>): string {
  return target.kind === 'otlp'
    ? `OTLP at ${new URL(target.url).host}`
    : `Syslog at ${target.host}, port ${target.port} (${target.transport})`
}

const counted = (lines: number) => (lines === 1 ? '1 line was' : `${lines} lines were`)

function behind({ waiting: { lines, oldest } }: LogExportState, now: Date): string {
  if (oldest === null) return 'none waits.'
  const seconds = Math.max(0, Math.round((now.getTime() - oldest) / 1000))
  return `${lines} ${lines === 1 ? 'waits' : 'wait'}, the oldest for ${seconds} s.`
}

async function missingProjects({ config, store }: LogExportCheckDeps): Promise<readonly string[]> {
  const { projects } = config.logExport
  if (projects.length === 0) return []
  const there = new Set((await store.projects.all()).map(({ slug }) => slug))
  return projects.filter((slug) => !there.has(slug))
}
