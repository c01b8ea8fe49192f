import type { Resumption } from './resumption.ts'

/** Handlers that need to know the projects wait until those were found. */
export function afterwards<H extends Record<string, (...args: never[]) => Promise<unknown>>>(
  { ready, isReady }: Pick<Resumption, 'ready' | 'isReady'>,
  handlers: H,
): H {
  const wrapped = Object.entries(handlers).map(([id, handler]) => [
    id,
    (...args: never[]) => (isReady() ? handler(...args) : ready.then(() => handler(...args))),
  ])
  return Object.fromEntries(wrapped) as H
}
