import { useEffect, useState } from 'react'

/** `value` as it was when it had stayed the same for a while; compared as JSON, so that equal objects are the same. */
export function useDebounced<Value>(value: Value, milliseconds: number): Value {
  const [settled, setSettled] = useState(value)
  const key = JSON.stringify(value)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for the value
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), milliseconds)
    return () => clearTimeout(timer)
  }, [key, milliseconds])
  return settled
}
