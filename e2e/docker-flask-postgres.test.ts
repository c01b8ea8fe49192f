import { guestbookJourney } from './journeys/guestbook.ts'
import { lines, startDockerService } from './support/docker-service.ts'

guestbookJourney({
  title: 'a Flask application with PostgreSQL in containers',
  open: (options) => startDockerService(['python', 'postgresql'], options),
  settings: {
    python: { version: lines.python },
    databases: { main: { type: 'postgresql', version: lines.postgresql } },
  },
  version: lines.postgresql,
  // Docker tells that it ended when all of it is gone.
  crash: async ({ lab }, { name }, project) => {
    const found = await lab.docker([
      'ps',
      '--quiet',
      '--filter',
      `label=stackquay.project=${project}`,
      '--filter',
      `label=stackquay.workload=${name}`,
    ])
    await lab.docker(['kill', found])
  },
})
