/**
 * Chunks of a stream are freed when V8 collects its young generation, which it does by the number of objects: up to 64 MB of chunks wait
 * for that. So it is asked for after so many bytes, where it can be asked (`--expose-gc`, as `npm start` has it). That takes a millisecond.
 */
export function freeChunks(bytes: number): void {
  passed += bytes
  if (passed < everyBytes) return
  passed = 0
  globalThis.gc?.({ type: 'minor', execution: 'sync' })
}

const everyBytes = 16 << 20
let passed = 0
