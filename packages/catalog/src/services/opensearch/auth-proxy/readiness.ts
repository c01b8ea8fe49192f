import type { ChildProcess } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'

const PAUSE_MS = 250
const ANSWER_MS = 10_000
/** An index that was damaged stays without its shard for ever; whoever is to mend it must be let in. */
const LONGEST_RECOVERY_MS = 60_000

/**
 * Resolves when the server has opened its indexes. It answers earlier than that, and the port might be somebody else's: the
 * answer counts when it comes from the process that was started.
 */
export async function untilReady(port: number, server: ChildProcess): Promise<void> {
  let since: number | null = null
  for (; ; await pause(PAUSE_MS)) {
    const nodes = await ask<NodesAnswer>(port, '/_nodes/_local/process?filter_path=nodes.*.process.id')
    const isOurs = Object.values(nodes?.nodes ?? {}).some(({ process }) => process.id === server.pid)
    if (!isOurs) continue
    since ??= Date.now()
    const health = await ask<HealthAnswer>(port, '/_cluster/health?wait_for_status=yellow&timeout=2s')
    if (health?.status === 'yellow' || health?.status === 'green') return
    if (Date.now() - since > LONGEST_RECOVERY_MS) {
      console.error('Some indexes are still not open. GET /_cluster/allocation/explain says why.')
      return
    }
  }
}

interface NodesAnswer {
  readonly nodes?: Readonly<Record<string, { readonly process: { readonly id: number } }>>
}

interface HealthAnswer {
  readonly status?: string
}

async function ask<Answer>(port: number, path: string): Promise<Answer | null> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { signal: AbortSignal.timeout(ANSWER_MS) })
    return (await response.json()) as Answer
  } catch {
    return null
  }
}
