/** Handlers that need to know the projects wait until those were found. */
export function afterwards<H extends Record<string, (...args: never[]) => Promise<unknown>>>(
  ready: Promise<void>,
  handlers: H,
): H {
  let done = false
  ready.then(
    () => {
      done = true
    },
    () => undefined,
  )
  const wrapped = Object.entries(handlers).map(([id, handler]) => [
    id,
    (...args: never[]) => (done ? handler(...args) : ready.then(() => handler(...args))),
  ])
  return Object.fromEntries(wrapped) as H
}
