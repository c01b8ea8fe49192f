import type { Reading, Writing } from './context.ts'
import { NoPortError } from './errors.ts'
import type { PortLease, PortReader, PortWriter } from './model/ports.ts'
import type { PortLeasesTable } from './schema.ts'

export function portReader({ db }: Reading): PortReader {
  const from = db.selectFrom('port_leases').selectAll()
  return {
    of: async (project) =>
      (await from.where('project', '=', project).orderBy('workload').orderBy('port').execute()).map(leaseOf),
    all: async () => (await from.orderBy('host_port').execute()).map(leaseOf),
  }
}

export function portWriter(writing: Writing): PortWriter {
  const { db } = writing
  const held = (project: string, workload: string, port: string) =>
    db
      .selectFrom('port_leases')
      .select('host_port')
      .where('project', '=', project)
      .where('workload', '=', workload)
      .where('port', '=', port)
      .executeTakeFirst()

  /** The first free candidate. The iterable is not read beyond it. */
  async function choose(candidates: Iterable<number>): Promise<number> {
    const rows = await db.selectFrom('port_leases').select('host_port').execute()
    const taken = new Set(rows.map((row) => row.host_port))
    for (const candidate of candidates) if (!taken.has(candidate)) return candidate
    throw new NoPortError(
      'Every port of the range is leased. Enlarge the range, or delete projects that are not needed.',
    )
  }

  async function take(project: string, workload: string, port: string, candidates: Iterable<number>): Promise<number> {
    const host_port = await choose(candidates)
    writing.leasesChanged = true
    await db
      .insertInto('port_leases')
      .values({ project, workload, port, host_port })
      .onConflict((conflict) => conflict.columns(['project', 'workload', 'port']).doUpdateSet({ host_port }))
      .execute()
    return host_port
  }

  return {
    lease: async (project, workload, port, candidates) =>
      (await held(project, workload, port))?.host_port ?? (await take(project, workload, port, candidates)),
    move: take,
    release: async (project, workload) => {
      writing.leasesChanged = true
      let query = db.deleteFrom('port_leases').where('project', '=', project)
      if (workload !== undefined) query = query.where('workload', '=', workload)
      await query.execute()
    },
  }
}

function leaseOf({ project, workload, port, host_port }: PortLeasesTable): PortLease {
  return { project, workload, port, hostPort: host_port }
}
