import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { runtimesQuery, servicesQuery } from '../api/queries.ts'
import { type Labels, labelsOf } from './stack.ts'

/** They are the same on every engine; naming the one whose offers are read anyway spares asking for another's. */
export function useLabels(engine: string | null): Labels {
  const runtimes = useQuery(runtimesQuery(engine)).data?.runtimes
  const services = useQuery(servicesQuery(engine)).data?.items
  return useMemo(() => labelsOf(runtimes, services), [runtimes, services])
}
