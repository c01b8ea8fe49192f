import { underLoadJourney } from './journeys/under-load.ts'
import { lines, startDockerService } from './support/docker-service.ts'

underLoadJourney({
  title: 'a project in a container under load',
  open: (options) => startDockerService(['node'], options),
  settings: { node: { version: lines.node } },
  // The proxy reaches it at another address and port then.
  change: { node: { port: 4100 } },
})
