import { fsyncSync, writeSync } from 'node:fs'
import { DESCRIPTORS } from './shim-spec.ts'
import { encodeState, type ShimState, STATE_BYTES } from './shim-state.ts'

/** The state of this shim, and the file that others read it from. */
export interface ShimStateFile {
  readonly now: ShimState
  /** Writes the first state. Throws when the disk does not take it. */
  begin(): void
  /** Makes it one that was never started. */
  clear(): void
  /** Never throws: the program goes on without its disk, and a reader finds at least that this process lives. */
  become(change: Partial<ShimState>): void
  sync(): void
}

export function createShimStateFile(first: ShimState): ShimStateFile {
  let state = first
  const write = (bytes: Buffer, at: number) => writeSync(DESCRIPTORS.state, bytes, 0, bytes.length, at)
  const save = () => {
    const { bytes, at } = encodeState(state)
    write(bytes, at)
  }
  return {
    get now() {
      return state
    },
    begin: save,
    clear: () => void write(Buffer.alloc(STATE_BYTES, ' '), 0),
    become(change) {
      state = { ...state, ...change, number: state.number + 1 }
      try {
        save()
      } catch {}
    },
    sync() {
      try {
        fsyncSync(DESCRIPTORS.state)
      } catch {}
    },
  }
}
