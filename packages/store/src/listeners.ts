export interface Listeners<Value> {
  /** Answers the function that ends it. */
  add(listener: (value: Value) => void): () => void
  call(value: Value): void
}

/** `report` gets the errors that listeners throw: no caller waits for them. */
export function createListeners<Value>(report: (error: unknown) => void): Listeners<Value> {
  const listeners = new Set<(value: Value) => void>()
  return {
    add: (listener) => {
      // A function of its own, so that the same listener twice is two.
      const own = (value: Value) => listener(value)
      listeners.add(own)
      return () => listeners.delete(own)
    },
    call: (value) => {
      for (const listener of [...listeners]) {
        try {
          listener(value)
        } catch (error) {
          report(error)
        }
      }
    },
  }
}
