/** The same, with the next one made while this one is used. */
export async function* oneAhead<T>(items: AsyncGenerator<T>): AsyncGenerator<T> {
  const next = () => {
    const making = items.next()
    // Told when it is its turn, or not at all where nobody gets that far.
    making.catch(() => undefined)
    return making
  }
  try {
    for (let coming = next(); ; ) {
      const { done, value } = await coming
      if (done === true) return
      coming = next()
      yield value
    }
  } finally {
    void items.return(undefined).catch(() => undefined)
  }
}
