import type { ProjectView } from '@stackquay/contract'
import { Link } from '@tanstack/react-router'
import { Boxes } from 'lucide-react'
import { buttonClass } from '../../components/button.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Panel } from '../../components/panel.tsx'
import { Table } from '../../components/table.tsx'
import { texts } from '../../texts/index.ts'
import { WorkloadRow } from './workload-row.tsx'

const t = texts.overview

export function Workloads({ project }: { project: ProjectView }) {
  const { workloads } = project.status
  return (
    <Panel title={t.workloads} flush>
      {workloads.length === 0 ? (
        <EmptyState icon={Boxes} title={t.noWorkloads}>
          <Link to="/projects/$project/runtimes" params={{ project: project.slug }} className={buttonClass()}>
            {t.chooseRuntime}
          </Link>
        </EmptyState>
      ) : (
        <Table
          label={t.workloads}
          head={[
            { title: t.columns.name },
            { title: t.columns.state },
            { title: t.columns.ports },
            { title: t.columns.uptime },
            { title: t.columns.restarts, end: true },
            { title: t.columns.actions, hidden: true },
          ]}
        >
          {workloads.map((workload) => (
            <WorkloadRow key={workload.name} project={project} workload={workload} />
          ))}
        </Table>
      )}
    </Panel>
  )
}
