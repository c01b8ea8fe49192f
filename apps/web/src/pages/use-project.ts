import type { ProjectView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { projectQuery } from '../api/queries.ts'

/** The project of the address. Pages below `ProjectPage` are only drawn when it is there. */
export function useProject(): ProjectView {
  const { project } = useParams({ from: '/app/projects/$project' })
  const { data } = useQuery(projectQuery(project))
  if (data === undefined) throw new Error('A page of a project was drawn before the project was read.')
  return data
}
