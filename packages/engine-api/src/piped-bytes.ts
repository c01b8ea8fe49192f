import type { Socket } from 'node:net'

/** Bytes that a program writes, so that they need not pass this process. They are taken once, in one of the two ways. */
export interface PipedBytes extends AsyncIterable<Buffer> {
  /**
   * Lets the program write all of them into the pipe, closes this process’s end of it, and resolves when all were written; throws where
   * reading them would. The signal ends the program, and it rejects. False: nothing was done, they can only be read.
   */
  into(pipe: Socket, signal: AbortSignal): Promise<boolean>
}
