import type { OperationRecord, ProjectSummary, ProjectView } from '@stackquay/contract'
import type { Query } from '@tanstack/react-query'
import { isOver, isWhole, mergeOperation } from '../lib/live.ts'
import { readProject, toldOperationKey } from './queries.ts'
import { queryClient } from './query-client.ts'

/** Puts a project just answered everywhere the page holds it: under its id, under its slug, and in the list. */
export function holdProject(project: ProjectView): void {
  for (const ref of [project.id, project.slug]) queryClient.setQueryData(['project', ref], project)
  queryClient.setQueryData<ProjectSummary[]>(['projects'], (list) => {
    if (list === undefined) return list
    const summary = summaryOf(project)
    return list.some((item) => item.id === project.id)
      ? list.map((item) => (item.id === project.id ? summary : item))
      : [...list, summary]
  })
  if (project.operation !== null) holdOperation(project.operation)
}

export function holdOperation(incoming: OperationRecord): void {
  const [key, toldKey] = [['operation', incoming.id], toldOperationKey(incoming.id)]
  const held = queryClient.getQueryData<OperationRecord>(key) ?? queryClient.getQueryData<OperationRecord>(toldKey)
  const operation = mergeOperation(held, incoming)
  queryClient.setQueryData(isWhole(operation) ? key : toldKey, operation)
  const { project: id } = operation
  if (id === null) return
  const current = (held: OperationRecord | null): OperationRecord | null =>
    isOver(operation) ? (held?.id === operation.id ? null : held) : operation
  queryClient.setQueryData<ProjectSummary[]>(['projects'], (list) =>
    list?.map((item) => (item.id === id ? { ...item, operation: current(item.operation) } : item)),
  )
  queryClient.setQueriesData<ProjectView>({ predicate: (query) => isProjectItself(query, id) }, (project) =>
    project === undefined ? project : { ...project, operation: current(project.operation) },
  )
}

/** Reads a project again and puts it where it is held; what hangs on it (variables, kept data, project file) is read when it is shown. */
export async function refreshProject(id: string): Promise<void> {
  const project = await readProject(id)
  holdProject(project)
  for (const part of ['env', 'extras', 'images', 'manifest', 'operations', 'network']) {
    for (const ref of [project.id, project.slug])
      void queryClient.invalidateQueries({ queryKey: ['project', ref, part] })
  }
}

export function forgetProject(id: string): void {
  queryClient.setQueryData<ProjectSummary[]>(['projects'], (list) => list?.filter((item) => item.id !== id))
  for (const query of queryClient.getQueryCache().findAll({ predicate: (query) => isProjectItself(query, id) })) {
    void queryClient.invalidateQueries({ queryKey: query.queryKey })
  }
}

function isProjectItself(query: Query, id: string): boolean {
  return (
    query.queryKey[0] === 'project' &&
    query.queryKey.length === 2 &&
    (query.state.data as ProjectView | undefined)?.id === id
  )
}

function summaryOf(project: ProjectView): ProjectSummary {
  const { env: _, status, ...rest } = project
  const { workloads: __, ...summary } = status
  return { ...rest, status: summary } as ProjectSummary
}
