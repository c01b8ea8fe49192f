import type { WebSocket } from 'ws'

/** Ends the socket of a peer that is gone, or has read nothing for more than half a minute: two pings were not answered. */
export function watchHeartbeat(socket: WebSocket): void {
  let unanswered = 0
  const beat = setInterval(() => {
    // Whoever is held by us cannot be heard. What is sent to one that is gone still fails: nothing else would tell.
    if (!socket.isPaused) unanswered += 1
    if (unanswered > 2) socket.terminate()
    else socket.ping()
  }, pingMilliseconds)
  socket.on('pong', () => {
    unanswered = 0
  })
  socket.on('close', () => clearInterval(beat))
}

const pingMilliseconds = 20_000
