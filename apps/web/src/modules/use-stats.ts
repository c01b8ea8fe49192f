import { type RefObject, useCallback, useEffect, useState, useSyncExternalStore } from 'react'
import { followStats, type StatsHistory, statsNow } from '../api/live-stats.ts'

const nothing: StatsHistory = { points: [] }

/** Live numbers of a project while `active`; the stream is shared by all parts that show it. */
export function useStats(project: string, active: boolean): StatsHistory {
  const subscribe = useCallback(
    (listener: () => void) => (active ? followStats(project, listener) : () => {}),
    [project, active],
  )
  return useSyncExternalStore(subscribe, () => (active ? statsNow(project) : nothing))
}

/** Whether an element is on the screen: a list of hundreds follows only what is seen. */
export function useOnScreen(element: RefObject<Element | null>): boolean {
  const [seen, setSeen] = useState(false)
  useEffect(() => {
    if (element.current === null) return
    const observer = new IntersectionObserver(([entry]) => setSeen(entry?.isIntersecting ?? false))
    observer.observe(element.current)
    return () => observer.disconnect()
  }, [element])
  return seen
}
