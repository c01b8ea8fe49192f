import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { runtimesQuery, servicesQuery } from '../api/queries.ts'
import { type Labels, labelsOf } from './stack.ts'

export function useLabels(): Labels {
  const runtimes = useQuery(runtimesQuery).data?.runtimes
  const services = useQuery(servicesQuery).data?.items
  return useMemo(() => labelsOf(runtimes, services), [runtimes, services])
}
